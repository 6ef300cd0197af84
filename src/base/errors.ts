import { isInstance } from "./is-instance.ts";

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

  /**
   * The error as plain JSON: name, code, message, the fields of its class and its cause, ten causes deep; no stack. Fields
   * that have no JSON are left out.
   */
  toJSON(): ErrorJson {
    return LanekeeperError.#json(this, DEEPEST_CAUSE);
  }

  static #json(error: LanekeeperError, causes: number): ErrorJson {
    const { name, code, message, cause } = error;
    const json: ErrorJson = { ...plainFields(() => error.details()), name, code, message };
    if (cause !== undefined && causes > 0) json.cause = LanekeeperError.#causeJson(cause, causes - 1);
    return json;
  }

  static #causeJson(cause: unknown, causes: number): ErrorJson | string {
    try {
      if (isInstance(cause, LanekeeperError)) return LanekeeperError.#json(cause, causes);
      if (LanekeeperError.is(cause)) return errorJson(cause);
      return isInstance(cause, Error) ? `${cause.name}: ${cause.message}` : String(cause);
    } catch {
      return "a value that cannot be shown";
    }
  }

  /** What the class adds to {@link toJSON}. */
  protected details(): Record<string, unknown> {
    return {};
  }
}

/** An error that was kept as plain JSON, as it was told: same name, code, message and fields. */
class RestoredError extends LanekeeperError {
  readonly #fields: Record<string, unknown>;

  constructor({ name, code, message, cause, ...fields }: ErrorJson) {
    super(message, cause === undefined ? {} : { cause: typeof cause === "string" ? cause : restoreError(cause) });
    this.name = name;
    Object.defineProperty(this, "code", { value: code, enumerable: true });
    this.#fields = fields;
    Object.assign(this, fields);
  }

  protected override details(): Record<string, unknown> {
    return { ...this.#fields };
  }
}

/** The error that {@link LanekeeperError.toJSON} gave; its class is gone, what it says is not. */
export function restoreError(json: ErrorJson): LanekeeperError {
  return new RestoredError(json);
}

/** `ToolTimedOutError` → `TOOL_TIMED_OUT`. */
function codeOf(className: string): string {
  return className
    .replace(/Error$/, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toUpperCase();
}

/** How far a chain of causes is told: it may lead back to where it began. */
const DEEPEST_CAUSE = 10;

/** A copy that shares nothing with what some class keeps in its fields. */
function plainFields(fields: () => Record<string, unknown>): Record<string, unknown> {
  try {
    const text = JSON.stringify(fields(), (_, value) => (typeof value === "bigint" ? String(value) : value));
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** What an error tells of itself, as plain JSON of our own, whatever its class makes of `toJSON`. Never throws. */
export function errorJson(error: LanekeeperError): ErrorJson {
  const json = plainFields(() => error.toJSON());
  const isWhole = ["name", "code", "message"].every((key) => typeof json[key] === "string");
  if (isWhole) return json as ErrorJson;
  return { name: "LanekeeperError", code: "LANEKEEPER", message: "an error that cannot be told" };
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
