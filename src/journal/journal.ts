import type { PendingCall } from "../protocol/gate.ts";
import type { JournalEntry } from "./journal-entry.ts";

/** The right to record what happens to one run; a later claim ends it. */
export interface Claim {
  readonly runId: string;
  /** Grows with every claim of the run: whoever has a smaller one can record nothing more (`Semantics 11.3`). */
  readonly epoch: number;
}

/** What becomes of a run when whoever works on it lets go. */
export type Release =
  /** It waits for somebody outside. */
  | { readonly status: "suspended"; readonly tenant: string; readonly pending: readonly PendingCall[] }
  /** Nothing was done to it: it waits as it did when it was claimed. */
  | { readonly status: "unchanged" }
  /** It has ended, and nobody will resume it. */
  | { readonly status: "ended" };

/** Narrows what is pending. */
export interface PendingFilter {
  readonly tenant?: string | undefined;
}

/**
 * What survives of runs: an append-only record of each, and who may work on it (`Semantics 11`).
 *
 * Every function that takes a claim rejects with a `JournalError` that is `held` once the run was claimed again.
 */
export interface Journal {
  /**
   * Takes a run for this process: a `new` one, whose id nobody has, or one that is `known` and was let go of.
   *
   * Rejects with a `JournalError`: one that is `held` while somebody works on the run, one that is not when the id is
   * taken, or unknown.
   */
  claim(runId: string, as: "new" | "known"): Promise<Claim>;
  /** What was recorded, in order; `undefined` for a run that nobody knows, or that has ended and was forgotten. */
  load(runId: string): Promise<readonly JournalEntry[] | undefined>;
  /** Records dispatches. Resolves once they are durable: bodies start after that (`Semantics 11.1`). */
  begin(claim: Claim, entries: readonly JournalEntry[]): Promise<void>;
  /** Records outcomes. Resolves once they are durable: models see them after that. */
  settle(claim: Claim, entries: readonly JournalEntry[]): Promise<void>;
  /** Records anything else, in order with the others. */
  append(claim: Claim, entries: readonly JournalEntry[]): Promise<void>;
  /** Lets go of the run. */
  release(claim: Claim, how: Release): Promise<void>;
  /** Every call that waits for somebody, runs that nobody holds only. */
  pending(filter?: PendingFilter): AsyncIterable<PendingCall>;
}
