/** A call that passed its gates, or waits for somebody, as phases see it. */
export interface PhaseCall {
  /** Whether it may be in flight beside its neighbours. */
  readonly parallelSafe: boolean;
  /** `suspended`: set aside until somebody outside answers (`Semantics 3.5`). `answered`: it has its verdict already. */
  readonly state: "ready" | "suspended" | "answered";
}

/**
 * The phases of a batch, in order (`Semantics 5.1`): consecutive parallel-safe calls share one, any other has its own.
 *
 * Calls with a verdict and suspended ones take no part; a suspended call that is not parallel-safe holds back all that the
 * model asked for after it. Pure, and linear in the number of calls.
 */
export function planPhases<Call extends PhaseCall>(calls: readonly Call[]): Call[][] {
  const phases: Call[][] = [];
  let shared: Call[] | undefined;
  for (const call of calls) {
    if (call.state === "suspended" && !call.parallelSafe) break;
    if (call.state !== "ready") continue;
    if (!call.parallelSafe) {
      phases.push([call]);
      shared = undefined;
    } else if (shared === undefined) {
      shared = [call];
      phases.push(shared);
    } else shared.push(call);
  }
  return phases;
}
