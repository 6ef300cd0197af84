import { LanekeeperError } from "../base/errors.ts";
import type { InputProblem } from "../tools/tool.ts";

/**
 * A model could not be asked, or answered what is no answer; it ended the run.
 *
 * `cause` is what the provider threw. A `status` of 408, 409, 429 or 5xx may be worth another run later.
 */
export class ProviderError extends LanekeeperError {
  static override readonly errorName: string = "ProviderError";

  /** The HTTP status, where there was one. */
  readonly status?: number;
  /** How long the vendor asks to wait, where it said so. */
  readonly retryAfterSeconds?: number;

  constructor(message: string, options: { status?: number; retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    if (options.status !== undefined) this.status = options.status;
    if (options.retryAfterSeconds !== undefined) this.retryAfterSeconds = options.retryAfterSeconds;
  }

  protected override details(): Record<string, unknown> {
    const { status, retryAfterSeconds } = this;
    return {
      ...(status === undefined ? {} : { status }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    };
  }
}

/**
 * The model still asked for tools in the last turn that the agent's `maxTurns` allows (`Semantics 2.11`).
 *
 * Its calls were answered and not run, so that the transcript is complete. Raise the limit, or look at why the model
 * does not come to an end.
 */
export class TurnLimitExceededError extends LanekeeperError {
  static override readonly errorName: string = "TurnLimitExceededError";

  /** The limit that applied. */
  readonly maxTurns: number;

  constructor(maxTurns: number) {
    super(`maxTurns: expected an answer within ${maxTurns} turns, got tool calls in the last`);
    this.maxTurns = maxTurns;
  }

  protected override details(): Record<string, unknown> {
    return { maxTurns: this.maxTurns };
  }
}

/**
 * A model's last answer does not fit the agent's `output` schema, also not after it was told what was wrong, or with no
 * turn left to tell it.
 *
 * Make the schema simpler or its descriptions clearer. The answers stand in the transcript.
 */
export class OutputInvalidError extends LanekeeperError {
  static override readonly errorName: string = "OutputInvalidError";

  /** The agent's name. */
  readonly agent: string;
  /** Everything that is wrong with the last answer, with its place. */
  readonly problems: readonly InputProblem[];

  constructor(agent: string, problems: readonly InputProblem[]) {
    const first = problems.slice(0, 3).map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
    const more = problems.length > 3 ? ` and ${problems.length - 3} more` : "";
    super(`agent ${JSON.stringify(agent)}: expected an answer that fits its output schema; ${first.join("; ")}${more}`);
    this.agent = agent;
    this.problems = problems;
  }

  protected override details(): Record<string, unknown> {
    return { agent: this.agent, problems: this.problems.slice(0, 20) };
  }
}
