/**
 * From what a body did to one outcome: it returned a value, or it threw one (`Semantics 2.6`, `2.7`).
 *
 * O1. Never rejects, and leaves no rejection of the body's promise, or of a `then` that is itself async, unhandled.
 * O2. The first settlement wins; what a thenable says later is nothing. Its `then` is read once and called once.
 * O3. A value never goes through a promise of ours bare: that would follow it again if it has a `then`.
 *
 * How long this takes, and whether anybody still waits, is the batch's business. Out of reach: an async body that
 * returns a proxy which answers every property has its own promise follow it, and never settles; its ceiling ends it.
 */
import { answersEverything } from "../base/answers-everything.ts";

/** What became of a body. */
export type BodyOutcome = { readonly returned: unknown } | { readonly threw: unknown };

/** Thenables that give thenables: more in a row than this were made never to end. */
const MOST_THENABLES = 10;

/** Starts a body and tells how it ended. Native promises and thenables are followed; the value itself is not looked at. */
export function bodyOutcome(start: () => unknown): Promise<BodyOutcome> {
  let returned: unknown;
  try {
    returned = start();
  } catch (threw) {
    return Promise.resolve({ threw });
  }
  return new Promise((settle) => follow(returned, MOST_THENABLES, settle));
}

function follow(value: unknown, more: number, settle: (outcome: BodyOutcome) => void): void {
  let open = true;
  /** The first word counts; the rest is nothing (O2). */
  const once = (act: () => void): void => {
    if (open) {
      open = false;
      act();
    }
  };
  const fail = (threw: unknown): void => once(() => settle({ threw }));
  try {
    const then = thenOf(value, more);
    if (then === undefined) {
      once(() => settle({ returned: value }));
      return;
    }
    const chained: unknown = Reflect.apply(then, value, [
      (next: unknown) => once(() => follow(next, more - 1, settle)),
      fail,
    ]);
    if (then !== Promise.prototype.then) hearRejection(chained, fail);
  } catch (threw) {
    fail(threw);
  }
}

/** The `then` to follow; none on what is a value. Throws for what would be followed for ever. */
function thenOf(value: unknown, more: number): ((...args: unknown[]) => unknown) | undefined {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  const then: unknown = (value as { then?: unknown }).then;
  if (typeof then !== "function") return undefined;
  if (more === 0) throw new TypeError("it returned thenables that give thenables without end");
  if (answersEverything(value)) throw new TypeError("it returned a proxy that answers every property, then too");
  return then as (...args: unknown[]) => unknown;
}

/** An async `then` that throws rejects the promise it returned, and tells nobody else (O1). */
function hearRejection(chained: unknown, fail: (threw: unknown) => void): void {
  try {
    Promise.prototype.then.call(chained as Promise<unknown>, undefined, fail);
  } catch {
    // No promise: nothing to hear.
  }
}
