import type { Bound } from "./bound.ts";

/** One lane as a store knows it. */
export interface StoreLane {
  /**
   * The same text in every process: `tenant:acme`, `tool:search`, `resource:maps`, or `arguments:` with the tool and the
   * arguments themselves, which may be long.
   */
  readonly lane: string;
  /** As the asking `Lanes` declares it now. While several declare different ones, the larger counts. */
  readonly bound: Bound;
}

/** Places that a store has given out, one in each lane that was asked for. */
export interface StoredPlaces {
  /**
   * Gives back the places in these lanes; twice is harmless. Called once for all of them as a rule, but a place that is
   * lent to a nested call may stay longer than the others.
   */
  release(lanes: readonly string[]): void | Promise<void>;
  /** Aborts when the store can no longer vouch for these places. Left out: it always can. */
  readonly lost?: AbortSignal;
}

/**
 * Where lanes are shared with others: other processes, or other `Lanes` of this one (`Semantics 11.4`).
 *
 * Shared are tenants, tools, resources and identical arguments. Order, fairness, nesting, deadlocks and cancelling stay
 * with each `Lanes`; only a call that it would let run asks the store. A store that throws or rejects fails the call that
 * asked: nothing ever runs unbounded (`Semantics 11.5`).
 */
export interface LaneStore {
  /** Takes one place in every lane in one step, or none: then `undefined`. */
  tryAcquire(lanes: readonly StoreLane[]): StoredPlaces | undefined | Promise<StoredPlaces | undefined>;
  /**
   * Calls `listener` with the name of a lane in which a place came free, from now on. Too often is harmless, too rarely
   * is not. Returns what ends the listening.
   */
  onFreed(listener: (lane: string) => void): () => void;
}
