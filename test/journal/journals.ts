/** Journals for tests: one that is watched, fails when it is told to, and outlives a process that does not. */
import {
  type Claim,
  type Journal,
  type JournalEntry,
  MemoryJournal,
  type PendingCall,
  type PendingFilter,
  type Release,
} from "lanekeeper";

/** The functions of a journal that a run in flight calls. */
export type Step = "claim" | "load" | "begin" | "settle" | "append" | "release";

export class WatchedJournal implements Journal {
  readonly kept: MemoryJournal;
  /** What was asked of it, in order: `begin call_begun`. */
  readonly asked: string[] = [];
  /** Called before each step; what it throws, or rejects with, fails the step before anything is kept. */
  before: (step: Step, entries: readonly JournalEntry[]) => unknown = () => {};

  constructor(kept: MemoryJournal = new MemoryJournal()) {
    this.kept = kept;
  }

  async claim(runId: string, as: "new" | "known"): Promise<Claim> {
    await this.#step("claim", as);
    return this.kept.claim(runId, as);
  }

  async load(runId: string): Promise<readonly JournalEntry[] | undefined> {
    await this.#step("load");
    return this.kept.load(runId);
  }

  async begin(claim: Claim, entries: readonly JournalEntry[]): Promise<void> {
    await this.#step("begin", ...entries);
    await this.kept.begin(claim, entries);
  }

  async settle(claim: Claim, entries: readonly JournalEntry[]): Promise<void> {
    await this.#step("settle", ...entries);
    await this.kept.settle(claim, entries);
  }

  async append(claim: Claim, entries: readonly JournalEntry[]): Promise<void> {
    await this.#step("append", ...entries);
    await this.kept.append(claim, entries);
  }

  async release(claim: Claim, how: Release): Promise<void> {
    await this.#step("release", how.status);
    await this.kept.release(claim, how);
  }

  pending(filter?: PendingFilter): AsyncIterable<PendingCall> {
    return this.kept.pending(filter);
  }

  /** What was recorded of a run so far. */
  async entries(runId: string): Promise<readonly JournalEntry[]> {
    return (await this.kept.load(runId)) ?? [];
  }

  /** The same as lines: `call_begun 0/1.0`. */
  async lines(runId: string): Promise<string[]> {
    return (await this.entries(runId)).map(lineOf);
  }

  async #step(step: Step, ...about: (JournalEntry | string)[]): Promise<void> {
    this.asked.push([step, ...about.map((one) => (typeof one === "string" ? one : lineOf(one)))].join(" "));
    await this.before(
      step,
      about.filter((one) => typeof one !== "string"),
    );
  }
}

function lineOf(entry: JournalEntry): string {
  const at = "position" in entry ? `/${entry.turn}.${entry.position}` : "";
  return `${entry.kind} ${entry.path}${at}`;
}

/** The journal of a run whose process has died when these lines were recorded: nobody holds the run. */
export async function afterCrash(runId: string, entries: readonly JournalEntry[]): Promise<WatchedJournal> {
  const kept = new MemoryJournal();
  const claim = await kept.claim(runId, "new");
  await kept.append(claim, entries);
  await kept.release(claim, { status: "unchanged" });
  return new WatchedJournal(kept);
}
