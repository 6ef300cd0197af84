import { shortReason } from "../base/describe-thrown.ts";
import { LanekeeperError } from "../base/errors.ts";

/** Which ceiling on a run has passed. */
export type DeadlineName = "runSeconds" | "modelCallSeconds" | "toolCallSeconds";

/**
 * A deadline of the run has passed and ended it, whatever `onToolError` says (`Semantics 7.4`).
 *
 * Raise the deadline, or give slow tools a ceiling of their own in `perToolSeconds`.
 */
export class DeadlineExceededError extends LanekeeperError {
  static override readonly errorName: string = "DeadlineExceededError";

  /** Which one: `runSeconds`, `modelCallSeconds` or `toolCallSeconds`. */
  readonly deadline: DeadlineName;
  /** The declared seconds. */
  readonly seconds: number;

  constructor(deadline: DeadlineName, seconds: number) {
    super(`deadlines.${deadline}: ${WHAT[deadline]} took longer than ${seconds} s`);
    this.deadline = deadline;
    this.seconds = seconds;
  }

  protected override details(): Record<string, unknown> {
    return { deadline: this.deadline, seconds: this.seconds };
  }
}

const WHAT: Record<DeadlineName, string> = {
  runSeconds: "the run",
  modelCallSeconds: "a model request",
  toolCallSeconds: "a turn's tool phase",
};

/**
 * A guardrail ended the run, or withheld a call's result (`Semantics 3.2`).
 *
 * The message is the guardrail's own reason; change the input or the guardrail.
 */
export class GuardrailViolationError extends LanekeeperError {
  static override readonly errorName: string = "GuardrailViolationError";

  /** The guardrail's name. */
  readonly guardrail: string;

  constructor(guardrail: string, reason: string) {
    super(`guardrail ${JSON.stringify(guardrail)}: ${shortReason(reason)}`);
    this.guardrail = guardrail;
  }

  protected override details(): Record<string, unknown> {
    return { guardrail: this.guardrail };
  }
}
