import { ConfigurationError } from "./errors.ts";
import { isInstance } from "./is-instance.ts";
import { showValue } from "./show-value.ts";

/** Throws the error that every option check throws: where, what was expected, what came. */
export function refuse(path: string, expected: string, value: unknown): never {
  throw new ConfigurationError(`${path}: expected ${expected}, got ${showValue(value)}`);
}

/** What `read` gives. Options whose getters throw, and proxies that do, are options that could never work. */
export function readable<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (isInstance(cause, ConfigurationError)) throw cause;
    throw new ConfigurationError(`${path}: expected a value that can be read, got one that throws`, { cause });
  }
}

/**
 * The options as they are now: an object with no keys but `known`, each of which is read once. A misspelt option is an
 * error, not a default.
 */
export function checkOptions(path: string, value: unknown, known: readonly string[]): Record<string, unknown> {
  return readable(path, () => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) refuse(path, "an object", value);
    for (const key of Object.keys(value)) {
      if (!known.includes(key)) {
        throw new ConfigurationError(`${path}.${key}: unknown option; expected one of ${known.join(", ")}`);
      }
    }
    const given: Record<string, unknown> = {};
    for (const key of known) if (key in value) given[key] = (value as Record<string, unknown>)[key];
    return given;
  });
}

/** A list as it is now, without holes. */
export function checkList(path: string, expected: string, value: unknown): unknown[] {
  return readable(path, () => (Array.isArray(value) ? Array.from<unknown>(value) : refuse(path, expected, value)));
}

/** An integer of at least 1, as every bound and limit is. */
export function checkPositiveInteger(path: string, value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 1)
    refuse(path, "an integer of at least 1", value);
  return value;
}

/**
 * A duration in seconds (`Semantics 7.4`): fractions are fine, `undefined` and `Infinity` mean none and give
 * `undefined`; zero, negative, `NaN` and text are refused.
 */
export function checkSeconds(path: string, value: unknown): number | undefined {
  if (value === undefined || value === Number.POSITIVE_INFINITY) return undefined;
  if (typeof value !== "number" || Number.isNaN(value) || value <= 0) {
    refuse(path, "a number of seconds above 0, or Infinity for none", value);
  }
  return value;
}

/** A value of one of the given words. */
export function checkOneOf<T extends string>(path: string, value: unknown, words: readonly T[]): T {
  if (!words.includes(value as T))
    refuse(path, `one of ${words.map((word) => JSON.stringify(word)).join(", ")}`, value);
  return value as T;
}

/** A function, or `undefined` when it may be left out. */
export function checkFunction(path: string, value: unknown): void {
  if (value !== undefined && typeof value !== "function") refuse(path, "a function", value);
}

/** An `AbortSignal`, of whatever realm, or `undefined`. */
export function checkSignal(path: string, value: unknown): void {
  if (value === undefined) return;
  const signal = value as Partial<AbortSignal> | null;
  if (
    typeof signal !== "object" ||
    signal === null ||
    typeof signal.aborted !== "boolean" ||
    typeof signal.addEventListener !== "function"
  ) {
    refuse(path, "an AbortSignal", value);
  }
}

/** Refuses what is no object with these functions: a clock, ids, whatever is injected. */
export function checkMembers(path: string, value: unknown, functions: readonly string[]): void {
  const members = value as Record<string, unknown> | null;
  const isWhole =
    typeof value === "object" && members !== null && functions.every((name) => typeof members[name] === "function");
  if (!isWhole) refuse(path, `an object with ${functions.join(", ")}`, value);
}

/** A clock; what stands in for the host's. */
export function checkClock(path: string, value: unknown): void {
  checkMembers(path, value, ["now", "monotonic", "setTimer"]);
}
