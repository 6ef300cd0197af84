/** A call that passed its gates, or waits for somebody, as phases see it. */
export interface PhaseCall {
  /** Whether it may be in flight beside its neighbours. */
  readonly parallelSafe: boolean;
  /** `suspended`: set aside until somebody outside answers (`Semantics 3.5`). `answered`: it has its verdict already. */
  readonly state: "ready" | "suspended" | "answered";
}

/** What a call does to the phase before it. */
export type Step =
  /** It is in flight beside those of that phase. */
  | "joins"
  /** It begins the next phase, once that one is over. */
  | "begins"
  /** It takes no part. */
  | "passes"
  /** It waits for somebody, and all that the model asked for after it waits for it. */
  | "holds_back";

/**
 * What the next call of a batch does to the phase that was begun last (`Semantics 5.1`): consecutive parallel-safe calls
 * share one, any other has its own.
 *
 * Calls with a verdict and suspended ones take no part; a suspended call that is not parallel-safe holds back all that the
 * model asked for after it. Pure. Asked for each call in call order, it gives the phases of the batch.
 */
export function stepOf(call: PhaseCall, phase: readonly PhaseCall[]): Step {
  if (call.state === "suspended") return call.parallelSafe ? "passes" : "holds_back";
  if (call.state === "answered") return "passes";
  return call.parallelSafe && phase[0]?.parallelSafe === true ? "joins" : "begins";
}
