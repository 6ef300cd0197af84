import { LanekeeperError } from "../base/errors.ts";

/**
 * A nested call waits for a place that can only come free once the call itself has ended (`Semantics 4.7`).
 *
 * Thrown at once to the call whose wait closed the knot; it was never dispatched. Raise the bound of a lane that the
 * cycle names, or let one of its bodies end before it starts nested work.
 */
export class LaneDeadlockError extends LanekeeperError {
  static override readonly errorName: string = "LaneDeadlockError";
  /** Who waits for which lane, held by whom: one line a link. */
  readonly cycle: string[];

  constructor(cycle: string[]) {
    super(`expected a place to come free without this call, got a deadlock: ${cycle.join("; ")}`);
    this.cycle = cycle;
  }

  protected override details(): Record<string, unknown> {
    return { cycle: [...this.cycle] };
  }
}

/**
 * A call waited for its lanes for longer than `maxWaitSeconds` (`Semantics 4.1`).
 *
 * It was never dispatched. Raise the limit or the bound of the lane, or ask for less at once.
 */
export class LaneWaitExceededError extends LanekeeperError {
  static override readonly errorName: string = "LaneWaitExceededError";
  /** The lane that the call waited for at the end. */
  readonly lane: string;
  /** How long it waited. */
  readonly waitedSeconds: number;
  /** The limit that applied. */
  readonly maxWaitSeconds: number;

  constructor(lane: string, waitedSeconds: number, maxWaitSeconds: number) {
    super(
      `lane ${lane}: expected a place within ${maxWaitSeconds} s, waited ${Math.round(waitedSeconds * 1000) / 1000} s`,
    );
    this.lane = lane;
    this.waitedSeconds = waitedSeconds;
    this.maxWaitSeconds = maxWaitSeconds;
  }

  protected override details(): Record<string, unknown> {
    return { lane: this.lane, waitedSeconds: this.waitedSeconds, maxWaitSeconds: this.maxWaitSeconds };
  }
}

/**
 * As many calls as `maxWaiting` allows wait in a lane of this call already (`Semantics 4.1`).
 *
 * It was never dispatched. Slow the callers down, or raise the limit.
 */
export class LaneFullError extends LanekeeperError {
  static override readonly errorName: string = "LaneFullError";
  /** The lane that takes no more waiting calls. */
  readonly lane: string;
  /** The limit that applied. */
  readonly maxWaiting: number;

  constructor(lane: string, maxWaiting: number) {
    super(`lane ${lane}: expected at most ${maxWaiting} waiting calls, got one more`);
    this.lane = lane;
    this.maxWaiting = maxWaiting;
  }

  protected override details(): Record<string, unknown> {
    return { lane: this.lane, maxWaiting: this.maxWaiting };
  }
}

/**
 * The store that shares lanes between processes could not be asked (`Semantics 11.5`).
 *
 * The call was never dispatched: without the store nobody knows whether there is a place. `cause` says what went wrong.
 */
export class LaneStoreUnavailableError extends LanekeeperError {
  static override readonly errorName: string = "LaneStoreUnavailableError";
}
