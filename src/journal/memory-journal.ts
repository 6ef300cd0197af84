import type { PendingCall } from "../protocol/gate.ts";
import type { Claim, Journal, PendingFilter, Release } from "./journal.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { JournalError } from "./journal-errors.ts";

interface KeptRun {
  epoch: number;
  held: boolean;
  entries: JournalEntry[];
  waits: { tenant: string; pending: readonly PendingCall[] } | undefined;
}

/**
 * A journal in this process's memory: runs that wait survive their runner, and nothing survives the process.
 *
 * Give the same one to several runners to resume on one what another has suspended. A run that has ended is forgotten; one
 * that waits for somebody is kept until it is resumed to its end.
 */
export class MemoryJournal implements Journal {
  readonly #runs = new Map<string, KeptRun>();
  /** Of all runs together, so that who worked on one that has ended cannot record in a later one of its id. */
  #claims = 0;

  /** Whether a run of this id is worked on or waits. */
  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  async claim(runId: string, as: "new" | "known"): Promise<Claim> {
    let run = this.#runs.get(runId);
    if (run?.held === true)
      throw new JournalError(runId, "expected a run that is free, got one that is worked on", { held: true });
    if (as === "known" && run === undefined)
      throw new JournalError(runId, "expected a run that waits, got one that nobody knows");
    if (as === "new" && run !== undefined)
      throw new JournalError(runId, "expected an id that is free, got that of a run that waits");
    if (run === undefined) {
      run = { epoch: 0, held: false, entries: [], waits: undefined };
      this.#runs.set(runId, run);
    }
    this.#claims += 1;
    run.epoch = this.#claims;
    run.held = true;
    return { runId, epoch: run.epoch };
  }

  async load(runId: string): Promise<readonly JournalEntry[] | undefined> {
    const entries = this.#runs.get(runId)?.entries;
    return entries === undefined ? undefined : structuredClone(entries);
  }

  async begin(claim: Claim, entries: readonly JournalEntry[]): Promise<void> {
    await this.append(claim, entries);
  }

  async settle(claim: Claim, entries: readonly JournalEntry[]): Promise<void> {
    await this.append(claim, entries);
  }

  async append(claim: Claim, entries: readonly JournalEntry[]): Promise<void> {
    this.#held(claim).entries.push(...structuredClone(entries));
  }

  async release(claim: Claim, how: Release): Promise<void> {
    const run = this.#held(claim);
    if (how.status === "ended") {
      this.#runs.delete(claim.runId);
      return;
    }
    run.held = false;
    if (how.status === "suspended") run.waits = { tenant: how.tenant, pending: structuredClone(how.pending) };
  }

  async *pending({ tenant }: PendingFilter = {}): AsyncGenerator<PendingCall, void, undefined> {
    for (const { held, waits } of [...this.#runs.values()]) {
      if (held || waits === undefined || (tenant !== undefined && waits.tenant !== tenant)) continue;
      for (const call of waits.pending) yield structuredClone(call);
    }
  }

  #held({ runId, epoch }: Claim): KeptRun {
    const run = this.#runs.get(runId);
    if (run === undefined || !run.held || run.epoch !== epoch) {
      throw new JournalError(runId, "somebody else has taken it over", { held: true });
    }
    return run;
  }
}
