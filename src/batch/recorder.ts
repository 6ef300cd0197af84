import type { LanekeeperError } from "../base/errors.ts";
import type { Claim, Journal, Release } from "../journal/journal.ts";
import type { JournalEntry } from "../journal/journal-entry.ts";
import { fromJournal } from "../journal/journal-errors.ts";

/** What a recorder is made of. */
export interface RecorderParts {
  readonly journal: Journal;
  readonly runId: string;
  /** Of a run that is resumed; a new run is claimed when its first line is written. */
  readonly claim: Claim | undefined;
  /** Whether lines are written as things happen. Else they are kept, and written once the run waits for somebody. */
  readonly isLive: boolean;
  /** Told once when nothing more can be recorded. */
  readonly onLost: (error: LanekeeperError) => void;
}

/**
 * Writes down what happens to one outermost run, and to the runs in it that can be continued.
 *
 * W1. Lines reach the journal in the order in which they were given; those that come while one write is under way go
 *     together in the next.
 * W2. After a write has failed nothing more is written, and nothing goes on as if it had been: no run waits that was not
 *     recorded.
 * W3. A run that nobody will resume leaves nothing behind, and without a journal of the user's costs no copy.
 */
export class Recorder {
  readonly #parts: RecorderParts;
  #claim: Claim | undefined;
  #lines: Line[] = [];
  #writing: Promise<void> = Promise.resolve();
  /** Why nothing more can be recorded. */
  #lost: LanekeeperError | undefined;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.#claim = parts.claim;
  }

  append(line: Line): void {
    if (this.#lost !== undefined) return;
    this.#add(line);
    if (this.#parts.isLive) void this.#write();
  }

  /** Records that a body is about to start; wait for what this gives before it does (`Semantics 11.1`). */
  begin(line: Line): Promise<void> | undefined {
    this.#add(line);
    return this.#parts.isLive ? this.#write() : undefined;
  }

  /** Wait for what this gives before a model sees what was recorded so far (`Semantics 11.1`). */
  settled(): Promise<void> | undefined {
    return this.#parts.isLive ? this.#write() : undefined;
  }

  /** Lets go of the run. Rejects when that, or something before, could not be recorded: it cannot be resumed then. */
  async release(how: Release): Promise<void> {
    if (how.status === "suspended" || this.#parts.isLive) await this.#write();
    if (this.#lost !== undefined) {
      // What was recorded stays, and whoever can record may go on with it. Nobody waits for a journal that has failed.
      if (this.#claim !== undefined) void this.#letGo(this.#claim);
      throw this.#lost;
    }
    if (this.#claim === undefined) return;
    try {
      await this.#parts.journal.release(this.#claim, how);
    } catch (threw) {
      this.#lost = fromJournal(this.#parts.runId, threw);
      throw this.#lost;
    }
  }

  async #letGo(claim: Claim): Promise<void> {
    try {
      await this.#parts.journal.release(claim, { status: "unchanged" });
    } catch {
      // It is told already that it fails.
    }
  }

  /** What is written as it happens is read now; what most likely never is, when it is written. */
  #add(line: Line): void {
    this.#lines.push(this.#parts.isLive ? entryOf(line) : line);
  }

  #write(): Promise<void> {
    const { journal, runId, onLost } = this.#parts;
    this.#writing = this.#writing.then(async () => {
      if (this.#lost !== undefined || this.#lines.length === 0) return;
      const lines = this.#lines.map(entryOf);
      this.#lines = [];
      try {
        this.#claim ??= await journal.claim(runId, "new");
        await journal[writerOf(lines)](this.#claim, lines);
      } catch (threw) {
        this.#lost = fromJournal(runId, threw);
        onLost(this.#lost);
      }
    });
    return this.#writing;
  }
}

/** A line, or what makes it of things that do not change any more: most runs never write theirs (W3). */
type Line = JournalEntry | (() => JournalEntry);

function entryOf(line: Line): JournalEntry {
  return typeof line === "function" ? line() : line;
}

/** Lines that go together are written as the one among them that most depends on: what was begun or settled is durable. */
function writerOf(lines: readonly JournalEntry[]): "begin" | "settle" | "append" {
  if (lines.some(({ kind }) => kind === "call_begun")) return "begin";
  return lines.some(({ kind }) => kind === "call_settled") ? "settle" : "append";
}
