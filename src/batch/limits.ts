import { checkOptions, checkPositiveInteger } from "../base/option-checks.ts";
import { DEFAULT_MAX_RESULT_BYTES } from "../tools/result-text.ts";

/** What bounds one run beside its lanes; each may be left out. */
export interface LimitOptions {
  /** Calls of one turn that run; those after them are answered `never dispatched` (`Semantics 2.10`). Default 128. */
  maxCallsPerTurn?: number | undefined;
  /** How many runs may stand above a nested one (`Semantics 2.10`). Default 8. */
  maxDepth?: number | undefined;
  /** UTF-8 bytes of a result that the model is shown (`Semantics 2.6`). Default 262,144. */
  maxResultBytes?: number | undefined;
}

/** {@link LimitOptions}, checked and complete. */
export interface Limits {
  readonly maxCallsPerTurn: number;
  readonly maxDepth: number;
  readonly maxResultBytes: number;
}

const DEFAULTS: Limits = { maxCallsPerTurn: 128, maxDepth: 8, maxResultBytes: DEFAULT_MAX_RESULT_BYTES };

/** @throws ConfigurationError (`CONFIGURATION`) for an unknown key or anything but an integer of at least 1. */
export function checkLimits(options: LimitOptions | undefined, path = "limits"): Limits {
  if (options === undefined) return DEFAULTS;
  const given = checkOptions(path, options, Object.keys(DEFAULTS));
  const limit = (key: keyof Limits): number =>
    given[key] === undefined ? DEFAULTS[key] : checkPositiveInteger(`${path}.${key}`, given[key]);
  return Object.freeze({
    maxCallsPerTurn: limit("maxCallsPerTurn"),
    maxDepth: limit("maxDepth"),
    maxResultBytes: limit("maxResultBytes"),
  });
}
