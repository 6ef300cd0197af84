import { LanekeeperError } from "../base/errors.ts";

/**
 * What happened to a run could not be read or recorded, or somebody else holds the run (`Semantics 11.3`).
 *
 * `held` tells the second from the first: try again once whoever works on the run has let go of it.
 */
export class JournalError extends LanekeeperError {
  static override readonly errorName: string = "JournalError";

  /** The run. */
  readonly runId: string;
  /** Whether somebody else holds the run, or took it over. */
  readonly held: boolean;

  constructor(runId: string, problem: string, options: { held?: boolean; cause?: unknown } = {}) {
    super(`run ${JSON.stringify(runId)}: ${problem}`, "cause" in options ? { cause: options.cause } : undefined);
    this.runId = runId;
    this.held = options.held === true;
  }

  protected override details(): Record<string, unknown> {
    return { runId: this.runId, held: this.held };
  }
}

/** What a journal threw, as the run's error: its own word where it is one of ours. */
export function fromJournal(runId: string, threw: unknown): LanekeeperError {
  if (LanekeeperError.is(threw)) return threw;
  return new JournalError(runId, "expected a journal that can be read and written to, got one that failed", {
    cause: threw,
  });
}
