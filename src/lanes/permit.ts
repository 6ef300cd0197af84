import type { Timer } from "../base/clock.ts";
import type { WaitedSeconds } from "../protocol/event.ts";
import { currentPermit, runWithPermit } from "./current-permit.ts";
import type { Lane } from "./lane.ts";
import type { LaneSet } from "./lane-set.ts";
import type { StoredPlaces } from "./lane-store.ts";
import type { Nesting } from "./nesting.ts";
import type { SignalWaiters } from "./signal-waiters.ts";
import type { Turn } from "./turn.ts";
import { noWait, WaitMark } from "./wait-mark.ts";

/** Where a call stands on its way: it only ever moves down this list. */
export const CallState = {
  fresh: 0,
  waiting: 1,
  /** Holds its places here, and asks the store for those elsewhere. */
  claiming: 2,
  held: 3,
  givenBack: 4,
  /** It never got its places. */
  failed: 5,
} as const;
export type CallState = (typeof CallState)[keyof typeof CallState];

/** What few permits need: kept apart so that a waiting call stays small. */
export class RareFacts {
  /** How often a place whose turn it was went to somebody else (`Semantics 4.5`). */
  passedOver = 0;
  /** Whether it stands in its lanes' lists of the starved. */
  starving = false;
  signalWaiters: SignalWaiters | null = null;
  signal: AbortSignal | null = null;
  /** Ends the wait at `maxWaitSeconds`. */
  waitTimer: Timer | null = null;
  /** Why it never got its places. */
  error: unknown = undefined;
  onGivenBack: (() => void)[] | null = null;
  /** The permit, of whatever lanes, in whose body this one was entered. */
  enteredFrom: Permit | null = null;
  /** Given back although the body runs. */
  abandoned = false;
  /** Its places in a store, by lane. */
  stored: Map<Lane, StoredPlaces> | null = null;
}

/**
 * A call's places, one in each lane it stands in; the waiting call and the permit are one object.
 *
 * Give it back with {@link Permit.release}, or with `using`. Made by `Lanes.acquire`, `tryAcquire` and `use` only.
 */
export class Permit {
  /** The opaque value given with the request: who the permit is for. */
  readonly holder: unknown;
  /** @internal */
  set: LaneSet;
  /** @internal */
  state: CallState = CallState.fresh;
  /** @internal Its age among all calls that ever waited; 0 when it did not. */
  age = 0;
  /** @internal Neighbours in its queue while it waits, in the list of held permits after that. */
  previous: Permit | null = null;
  /** @internal */
  next: Permit | null = null;
  /** @internal Settles the wait; the same for a grant and a failure. */
  settle: ((permit: Permit) => void) | null = null;
  /** @internal What `use` runs. */
  body: ((permit: Permit) => unknown) | null = null;
  /** @internal Monotonic milliseconds. */
  waitingSince = 0;
  /** @internal Monotonic milliseconds. */
  heldSince = 0;
  /** @internal */
  firstMark: WaitMark | null = null;
  /** @internal */
  lastMark: WaitMark | null = null;
  /** @internal Its callers and the calls nested in it; null for nearly every call. */
  nesting: Nesting | null = null;
  /** @internal */
  rare: RareFacts | null = null;

  /** @internal */
  constructor(set: LaneSet, holder: unknown) {
    this.set = set;
    this.holder = holder;
  }

  get tenant(): string | undefined {
    return this.set.tenantName;
  }

  get turn(): Turn | undefined {
    return this.set.turn;
  }

  get tool(): string | undefined {
    return this.set.toolName;
  }

  get resource(): string | undefined {
    return this.set.resourceName;
  }

  /** How long the call waited, in seconds by the kind of lane it waited for: the first shut one in the fixed order. */
  get waited(): WaitedSeconds {
    if (this.firstMark === null || this.lastMark === null) return noWait();
    return WaitMark.between(this.firstMark, this.waitingSince, this.lastMark, this.heldSince);
  }

  /** Whether the places have gone back. */
  get givenBack(): boolean {
    return this.state > CallState.held;
  }

  /**
   * Aborts when the store that shares the lanes can no longer vouch for the places: another process may have them too.
   * `undefined` where that cannot happen. A nested call that has no places of its own there has its caller's.
   */
  get lost(): AbortSignal | undefined {
    for (const places of this.rare?.stored?.values() ?? []) if (places.lost !== undefined) return places.lost;
    return this.nesting?.caller?.lost;
  }

  /**
   * Gives every place back now; doing it twice is harmless (`Semantics 4.10`).
   *
   * A place that is lent to a nested call passes to that call. Waiting calls are granted before this returns, but no
   * body starts in it.
   */
  release(): void {
    this.set.engine.release(this);
  }

  /** The same as {@link Permit.release}, for `using`. */
  [Symbol.dispose](): void {
    this.release();
  }

  /**
   * Runs `body` with this permit as the current one: what it asks of the same lanes is nested in this permit.
   *
   * @internal
   */
  enter<T>(body: () => T): T {
    return this.run(callIt as (body: unknown) => T, body);
  }

  /**
   * Runs code of the body that comes back from elsewhere, in this permit again.
   *
   * @internal
   */
  reenter<T>(code: () => T): T {
    // What called the body is known from its start. Code comes back from below it, too, and that did not call it.
    return runWithPermit(this, callIt as (code: unknown) => T, code);
  }

  /** @internal The same with an argument, so that no closure is needed. */
  run<A, T>(body: (argument: A) => T, argument: A): T {
    const from = currentPermit();
    if (from !== undefined && from !== this) rareOf(this).enteredFrom = from;
    return runWithPermit(this, body, argument);
  }

  /**
   * The body has ended: gives the places back once every nested call below it has gone too (`Semantics 4.8`).
   *
   * @internal
   */
  end(): void {
    this.set.engine.end(this);
  }

  /**
   * Gives the places back although the body runs (`Semantics 4.8`). A place it has lent passes to the borrower, one it
   * has borrowed returns to its lender; until {@link Permit.end} its lanes count it as abandoned.
   *
   * @internal
   */
  abandon(): void {
    this.set.engine.abandon(this);
  }

  /**
   * Calls `call` once when the places have gone back, in whatever way; at once if they have.
   *
   * @internal
   */
  onGivenBack(call: () => void): void {
    if (this.givenBack) {
      call();
      return;
    }
    const rare = rareOf(this);
    rare.onGivenBack ??= [];
    rare.onGivenBack.push(call);
  }
}

const callIt = (body: () => unknown): unknown => body();

/** The permit's rare facts, made at first use. */
export function rareOf(permit: Permit): RareFacts {
  permit.rare ??= new RareFacts();
  return permit.rare;
}
