import { LanekeeperError } from "../base/errors.ts";

/**
 * A test and what it drives do not fit together: a script step that nobody asked for, a transcript that a vendor
 * would refuse, a timer that nobody moves.
 *
 * Thrown by the testing kit only. The message lists everything that was found; correct the test, or what it found.
 */
export class TestingError extends LanekeeperError {
  static override readonly errorName: string = "TestingError";

  /** What was found, one line each. */
  readonly problems: readonly string[];

  constructor(what: string, problems: readonly string[] = [], options?: { cause?: unknown }) {
    super(problems.length === 0 ? what : `${what}\n${problems.map((problem) => `  - ${problem}`).join("\n")}`, options);
    this.problems = [...problems];
  }

  protected override details(): Record<string, unknown> {
    return { problems: [...this.problems] };
  }
}
