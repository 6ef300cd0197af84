/** What holds whatever comes: asked of every run, result and error that a case brings. */
import { types } from "node:util";
import {
  ConfigurationError,
  LanekeeperError,
  type Message,
  type ModelRequest,
  type Run,
  type ToolResult,
} from "lanekeeper";
import { checkRequest, type FakeClock } from "lanekeeper/testing";
import { expect } from "vitest";

/** A cut text ends with a marker, which at a small limit is longer than it (`Semantics 2.6`). */
const MARKER_BYTES = 100;
/** Texts of errors are bounded by themselves. */
const ERROR_BYTES = 16_384;

const LONE_SURROGATE = /\p{Surrogate}/u;
const STATUSES = ["ok", "error", "indeterminate", "never_dispatched"];

/** An error of ours that can be told: with a code, a message, and plain JSON. */
export function isTold(error: unknown): asserts error is LanekeeperError {
  expect(LanekeeperError.is(error), `an error of ours, not ${describe(error)}`).toBe(true);
  const { code, message } = error as LanekeeperError;
  expect(typeof code).toBe("string");
  expect(typeof message).toBe("string");
  const json = JSON.parse(JSON.stringify((error as LanekeeperError).toJSON()));
  expect(json).toMatchObject({ code, name: expect.any(String), message: expect.any(String) });
}

/** A mistake of the options: its message has the path, what was expected, and what came. */
export function isMistake(error: unknown): void {
  isTold(error);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error.message).toMatch(/^\S.*: (unknown option; )?expected \S/);
}

/** A mistake of the options, or what an option itself throws when it is read. */
export function isMistakeOrTheirs(error: unknown): void {
  const isTheirs = error instanceof Error && /^boom$|has been revoked/.test(String(error.message));
  if (!isTheirs) isMistake(error);
}

export function isResult(result: ToolResult, maxResultBytes: number): void {
  const { callId, name, status, content, error, mayHaveLanded } = result;
  expect([typeof callId, typeof name, typeof content, typeof mayHaveLanded]).toEqual([
    "string",
    "string",
    "string",
    "boolean",
  ]);
  expect(callId).not.toBe("");
  expect(STATUSES).toContain(status);
  expect(LONE_SURROGATE.test(content), "half a character").toBe(false);
  const bytes = Buffer.byteLength(content);
  if (status === "ok") {
    expect(error).toBeUndefined();
    expect(bytes).toBeLessThanOrEqual(Math.max(maxResultBytes, Math.floor(maxResultBytes / 2) + MARKER_BYTES));
    expect(JSON.parse(JSON.stringify(result.value ?? null))).toEqual(result.value ?? null);
  } else {
    isTold(error);
    expect(bytes).toBeLessThanOrEqual(ERROR_BYTES);
  }
}

const asked = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []).map(({ id }) => id) : []));

/** A settled run, of a text or of a loaded conversation: each call answered once, in order; everything well-typed; what it ended with can be told. */
export function isWhole(run: Run<unknown>, maxResultBytes: number, { isLoaded = false } = {}): void {
  for (const result of run.results) isResult(result, maxResultBytes);
  const ids = run.results.map(({ callId }) => callId);
  expect(new Set(ids).size, "one result for each call").toBe(ids.length);
  // A conversation that was gone on with may have calls of its own.
  const answered = asked(run.messages).slice(isLoaded ? -ids.length || Number.POSITIVE_INFINITY : 0);
  if (run.status === "suspended") {
    const pending = run.pending.map(({ callId }) => callId);
    expect(pending.length).toBeGreaterThan(0);
    expect([...ids, ...pending].sort()).toEqual([...answered].sort());
    expect(structuredClone(run.pending)).toEqual(run.pending);
  } else {
    const problems = wouldRefuse({ messages: [...run.messages] });
    // What somebody else put beside the members of a message goes along as it is.
    expect(isLoaded ? problems.filter((one) => !one.includes("expected plain JSON")) : problems).toEqual([]);
    // What went out while a model streamed an answer that never came is in the results only.
    expect(ids.slice(0, answered.length)).toEqual(answered);
    if (run.status === "completed") expect(ids).toEqual(answered);
    else isTold(run.error);
  }
  const last = run.events.at(-1);
  expect(last?.kind).toBe(`run_${run.status}`);
  expect(JSON.parse(JSON.stringify(run.events))).toHaveLength(run.events.length);
  expect(JSON.parse(JSON.stringify(run.state))).toEqual(run.state);
}

/** What a strict vendor would find wrong. `vendor` is the provider's own, carried and never read: no vendor is shown it. */
export function wouldRefuse(request: Partial<ModelRequest>): string[] {
  const messages = (request.messages ?? []).map((message) => ({ ...message, vendor: null }));
  return checkRequest({ model: "m", instructions: "", tools: [], settings: {}, ...request, messages });
}

/** Gives what `promise` comes to: at once, when time passes, or at the latest when the run is cancelled. */
export async function settled<T>(clock: FakeClock, promise: Promise<T>, stop: AbortController): Promise<T> {
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
  };
  promise.then(settle, settle);
  const cancel = (): Promise<void> => {
    stop.abort(new Error("nothing else ended it"));
    return clock.settle();
  };
  for (const move of [() => clock.settle(), () => clock.advance(300), cancel]) {
    await move();
    if (isSettled) return promise;
  }
  throw new Error("it never settles, also not when it is cancelled");
}

/** What a value is, without running any code of it: what was given must look the same when it is given back. */
export function shape(value: unknown, above: readonly unknown[] = []): unknown {
  if (typeof value === "function" || types.isProxy(value)) return typeof value;
  if (typeof value !== "object" || value === null) return `${typeof value} ${String(value)}`;
  if (above.includes(value) || above.length > 20) return "…";
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== null && prototype !== Object.prototype) return "an instance";
  const keys = Reflect.ownKeys(value).slice(0, 1_000);
  const members = keys.map((key) => {
    const member = Object.getOwnPropertyDescriptor(value, key) as PropertyDescriptor;
    return [String(key), "value" in member ? shape(member.value, [...above, value]) : "a getter"];
  });
  return [Array.isArray(value), Object.isFrozen(value), members];
}

/** For messages of this file, of values that may throw. */
function describe(value: unknown): string {
  try {
    return value instanceof Error ? `${value.stack}` : String(value);
  } catch {
    return typeof value;
  }
}
