import { limitsOf } from "../lanes/bound.ts";
import { type ConcurrencyConfig, DEFAULT_ABANDON_SECONDS } from "../lanes/concurrency-config.ts";
import type { Call } from "./call.ts";
import type { RunScope } from "./run-scope.ts";

/** The call's own ceiling as declared now: the runner's, or a tighter one of an agent above it (`Semantics 7.2`). */
export function ceilingSeconds({ name, scope }: Call): number | undefined {
  let seconds = Number.POSITIVE_INFINITY;
  for (const { perToolSeconds } of configsOf(scope)) seconds = Math.min(seconds, perToolSeconds[name] ?? seconds);
  return seconds === Number.POSITIVE_INFINITY ? undefined : seconds;
}

/**
 * After how long a deaf body is due, and whether its places go back then (`Semantics 4.8`).
 *
 * A tool that is not parallel-safe or has a bound of 1 is abandoned only if it says so itself: with one more body than
 * its lane allows, the promise that it was declared for would be broken.
 */
export function abandonment(call: Call): { seconds: number; abandon: boolean } {
  const { tool, scope } = call;
  if (tool?.abandonSeconds !== undefined) return { seconds: tool.abandonSeconds, abandon: true };
  const declared = configsOf(scope).flatMap(({ abandonSeconds }) => abandonSeconds ?? []);
  const seconds = declared.length === 0 ? DEFAULT_ABANDON_SECONDS : Math.min(...declared);
  return { seconds, abandon: call.parallelSafe && !hasBoundOfOne(call) };
}

function hasBoundOfOne({ name, tool, scope }: Call): boolean {
  return configsOf(scope).some(
    ({ perTool, perResource }) =>
      limitsOf(perTool[name]).inFlight === 1 ||
      (tool?.resource !== undefined && limitsOf(perResource[tool.resource]).inFlight === 1),
  );
}

/** Everything that is declared for a call of this run: a turn bounds what goes on below it, too (`Semantics 4.2`). */
function configsOf({ lanes, narrowings }: RunScope): readonly ConcurrencyConfig[] {
  return [lanes.config, ...narrowings];
}
