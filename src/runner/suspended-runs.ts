import { ConfigurationError, type LanekeeperError } from "../base/errors.ts";
import { isInstance } from "../base/is-instance.ts";
import { Recorder } from "../batch/recorder.ts";
import type { Claim, Journal } from "../journal/journal.ts";
import type { JournalEntry } from "../journal/journal-entry.ts";
import { fromJournal, JournalError } from "../journal/journal-errors.ts";
import { MemoryJournal } from "../journal/memory-journal.ts";

/** Where runs that wait are kept: in the user's journal, else in memory. Its errors are `JournalError`s. */
export class SuspendedRuns {
  readonly #memory: MemoryJournal = new MemoryJournal();
  readonly #given: Journal | undefined;
  readonly #report: (error: unknown) => void;

  /** `report` is told what nobody waits for. */
  constructor(given: Journal | undefined, report: (error: unknown) => void) {
    this.#given = given;
    this.#report = report;
  }

  get journal(): Journal {
    return this.#given ?? this.#memory;
  }

  /** Whether a run that waits in memory has this id. */
  hasInMemory(runId: string): boolean {
    return this.#memory.has(runId);
  }

  /** `onLost` is told when nothing more can be recorded. `claim` is that of a run that is resumed. */
  recorder(runId: string, claim: Claim | undefined, onLost: (error: LanekeeperError) => void): Recorder {
    return new Recorder({ journal: this.journal, runId, claim, isLive: this.#given !== undefined, onLost });
  }

  /** Takes up a run. Rejects with `ConfigurationError` for one that nobody knows. */
  async claim(runId: string): Promise<Claim> {
    try {
      return await this.journal.claim(runId, "known");
    } catch (error) {
      const isUnknown = isInstance(error, JournalError) && !error.held && error.cause === undefined;
      if (!isUnknown) throw fromJournal(runId, error);
      throw new ConfigurationError(`resume: ${error.message}`, { cause: error });
    }
  }

  async load({ runId }: Claim): Promise<readonly JournalEntry[]> {
    try {
      return (await this.journal.load(runId)) ?? [];
    } catch (error) {
      throw fromJournal(runId, error);
    }
  }

  /** Lets go of a run to which nothing was done. Never rejects: why it is let go of is told to whoever asked. */
  async letGo(claim: Claim): Promise<void> {
    try {
      await this.journal.release(claim, { status: "unchanged" });
    } catch (error) {
      this.#report(error);
    }
  }
}
