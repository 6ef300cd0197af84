import type { Bound } from "./bound.ts";

/** One lane as a store knows it. */
export interface StoreLane {
  /** The same text in every process: `tenant:acme`, `tool:search`. */
  readonly lane: string;
  readonly bound: Bound;
}

/** Places that a store has given out. */
export interface StoredPlaces {
  /** Gives all of them back; twice is harmless. */
  release(): void;
}

/**
 * Where lanes are shared with others: other processes, or other `Lanes` of this one (`Semantics 11.4`).
 *
 * Order, fairness, nesting, deadlocks and cancelling stay with each `Lanes`; only a call that it would let run asks the
 * store. A store that throws or rejects fails the call that asked: nothing ever runs unbounded (`Semantics 11.5`).
 */
export interface LaneStore {
  /** Takes one place in every lane in one step, or none: then `undefined`. */
  tryAcquire(places: readonly StoreLane[]): StoredPlaces | undefined | Promise<StoredPlaces | undefined>;
  /**
   * Calls `listener` with the name of a lane in which a place came free. Too often is harmless, too rarely is not.
   * Returns what ends the listening.
   */
  onFreed(listener: (lane: string) => void): () => void;
  /** Aborts when the store can no longer vouch for the places it has given out. */
  readonly lost: AbortSignal;
}
