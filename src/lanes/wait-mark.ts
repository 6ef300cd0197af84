import type { WaitedSeconds } from "../protocol/event.ts";

/** A kind of lane that a wait is put down to. */
export type WaitKind = keyof WaitedSeconds;

/**
 * What the calls of one queue wait for since some moment, and how long they had waited for each kind of lane before.
 *
 * Marks never change: all calls that join while one holds share it, and the difference of two marks is what a call
 * waited in between, however often the lane in its way changed. So a waiting call costs one reference.
 */
export class WaitMark {
  readonly kind: WaitKind;
  readonly #at: number;
  readonly #totals: Partial<Record<WaitKind, number>>;

  private constructor(kind: WaitKind, at: number, totals: Partial<Record<WaitKind, number>>) {
    this.kind = kind;
    this.#at = at;
    this.#totals = totals;
  }

  static first(kind: WaitKind, at: number): WaitMark {
    return new WaitMark(kind, at, {});
  }

  /** The mark that follows when another kind of lane is in the way from `at` on. */
  next(kind: WaitKind, at: number): WaitMark {
    return new WaitMark(kind, at, { ...this.#totals, [this.kind]: this.#totalAt(this.kind, at) });
  }

  #totalAt(kind: WaitKind, at: number): number {
    return (this.#totals[kind] ?? 0) + (kind === this.kind ? at - this.#at : 0);
  }

  /** What somebody waited for who joined at `from` under `first` and went at `to` under `last`; times in milliseconds. */
  static between(first: WaitMark, from: number, last: WaitMark, to: number): WaitedSeconds {
    const waited: WaitedSeconds = noWait();
    // Within one mark the plain difference is exact; sums would bring in rounding.
    if (first === last) waited[first.kind] = (to - from) / 1000;
    else {
      for (const kind of KINDS) {
        const ms = last.#totalAt(kind, to) - first.#totalAt(kind, from);
        if (ms > 0) waited[kind] = ms / 1000;
      }
    }
    return waited;
  }
}

const KINDS: readonly WaitKind[] = ["tenant", "turn", "tool", "resource", "arguments", "exclusive"];

/** What a call waited that did not wait. */
export function noWait(): WaitedSeconds {
  return { tenant: 0, turn: 0, tool: 0, resource: 0 };
}
