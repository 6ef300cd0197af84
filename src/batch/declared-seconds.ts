import { limitsOf } from "../lanes/bound.ts";
import { DEFAULT_ABANDON_SECONDS } from "../lanes/concurrency-config.ts";
import type { Call } from "./call.ts";

/** The call's own ceiling as declared now: the runner's, or a tighter one of its agent (`Semantics 7.2`). */
export function ceilingSeconds({ name, scope }: Call): number | undefined {
  const seconds = Math.min(
    scope.lanes.config.perToolSeconds[name] ?? Number.POSITIVE_INFINITY,
    scope.narrowing.perToolSeconds[name] ?? Number.POSITIVE_INFINITY,
  );
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
  const declared = [scope.lanes.config.abandonSeconds, scope.narrowing.abandonSeconds].filter(
    (seconds) => seconds !== undefined,
  );
  const seconds = declared.length === 0 ? DEFAULT_ABANDON_SECONDS : Math.min(...declared);
  return { seconds, abandon: call.parallelSafe && !hasBoundOfOne(call) };
}

function hasBoundOfOne({ name, tool, scope }: Call): boolean {
  const configs = [scope.lanes.config, scope.narrowing];
  return configs.some(
    ({ perTool, perResource }) =>
      limitsOf(perTool[name]).inFlight === 1 ||
      (tool?.resource !== undefined && limitsOf(perResource[tool.resource]).inFlight === 1),
  );
}
