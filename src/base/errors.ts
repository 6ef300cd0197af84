/** The mark by which errors of this package are recognised across copies of it. */
const MARK: unique symbol = Symbol.for("lanekeeper.error") as never;

/** The plain-JSON form of a {@link LanekeeperError}. */
export interface ErrorJson {
  /** The class name. */
  name: string;
  /** The stable code, such as `TOOL_TIMED_OUT`. */
  code: string;
  /** What was expected, where, and what came. */
  message: string;
  /** What lay underneath, as text or as an error of ours. */
  cause?: ErrorJson | string;
  /** The fields of the particular class. */
  [field: string]: unknown;
}

/**
 * The base of every error that Lanekeeper makes.
 *
 * Switch on {@link LanekeeperError.code}; it is the class name in upper snake case without `Error`
 * (`ToolTimedOutError` → `TOOL_TIMED_OUT`).
 */
export class LanekeeperError extends Error {
  /** The name of the class, spelt out: a minifier renames classes, and codes must survive that. */
  static readonly errorName: string = "LanekeeperError";

  /** The stable code of the class. */
  readonly code: string;

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options !== undefined && "cause" in options ? { cause: options.cause } : undefined);
    this.name = new.target.errorName;
    this.code = codeOf(this.name);
    Object.defineProperty(this, MARK, { value: true });
  }

  /** Whether `value` is one of ours, also when another copy of the package made it. Never throws. */
  static is(value: unknown): value is LanekeeperError {
    try {
      return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[MARK] === true;
    } catch {
      return false;
    }
  }

  /** The error as plain JSON: name, code, message, the fields of its class and its cause; no stack. */
  toJSON(): ErrorJson {
    const json: ErrorJson = { name: this.name, code: this.code, message: this.message, ...this.details() };
    if (this.cause !== undefined) json.cause = causeJson(this.cause);
    return json;
  }

  /** What the class adds to {@link toJSON}. */
  protected details(): Record<string, unknown> {
    return {};
  }
}

/** `ToolTimedOutError` → `TOOL_TIMED_OUT`. */
function codeOf(className: string): string {
  return className
    .replace(/Error$/, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toUpperCase();
}

function causeJson(cause: unknown): ErrorJson | string {
  try {
    if (LanekeeperError.is(cause)) return cause.toJSON();
    return cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  } catch {
    return "a value that cannot be shown";
  }
}

/**
 * Something that can never work was asked for: an unknown option, a bound of 0, two tools of one name.
 *
 * Thrown where the mistake is made. The message names the path, what was expected and what came. Fix the code.
 */
export class ConfigurationError extends LanekeeperError {
  static override readonly errorName: string = "ConfigurationError";
}

/**
 * The caller cancelled: its signal aborted, its stream was left, or the runner was closed.
 *
 * `cause` is the caller's `signal.reason` when there was one.
 */
export class CancelledError extends LanekeeperError {
  static override readonly errorName: string = "CancelledError";
}

/** A fault of Lanekeeper itself. Please report it with the message and the cause. */
export class InternalError extends LanekeeperError {
  static override readonly errorName: string = "InternalError";

  constructor(what: string, options?: { cause?: unknown }) {
    super(`This is a bug in Lanekeeper, not in your code: ${what}`, options);
  }
}
