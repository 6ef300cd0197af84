import { checkOptions, checkSeconds } from "../base/option-checks.ts";

/** Durations in seconds; fractions are fine; absent or `Infinity` means none (`Semantics 7.4`). */
export interface DeadlineOptions {
  /** The whole run, everything included. */
  runSeconds?: number | undefined;
  /** One request to a model. */
  modelCallSeconds?: number | undefined;
  /** One turn's tool phase: waits in lanes included, people's decisions excluded. */
  toolCallSeconds?: number | undefined;
}

/**
 * Ceilings on a run; passing one ends it with `DeadlineExceededError` (`Semantics 7.4`). Immutable.
 *
 * All are measured on a monotonic clock, `runSeconds` from the start of the run, the others from the start of the
 * request or the tool phase. A plain object is taken wherever a `DeadlineConfig` is.
 */
export class DeadlineConfig {
  readonly runSeconds: number | undefined;
  readonly modelCallSeconds: number | undefined;
  readonly toolCallSeconds: number | undefined;

  /** @throws ConfigurationError (`CONFIGURATION`) for an unknown key, zero, a negative number, `NaN` or text. */
  constructor(options: DeadlineOptions = {}, path = "deadlines") {
    const given = checkOptions(path, options, ["runSeconds", "modelCallSeconds", "toolCallSeconds"]);
    this.runSeconds = checkSeconds(`${path}.runSeconds`, given.runSeconds);
    this.modelCallSeconds = checkSeconds(`${path}.modelCallSeconds`, given.modelCallSeconds);
    this.toolCallSeconds = checkSeconds(`${path}.toolCallSeconds`, given.toolCallSeconds);
    Object.freeze(this);
  }
}
