import type { Clock } from "../base/clock.ts";
import type { Lanes } from "../lanes/lanes.ts";
import type { LaneSnapshot } from "../lanes/snapshot.ts";
import type { DeafBodies } from "./deaf-bodies.ts";
import type { StartNested } from "./run-scope.ts";

/** A runner, as far as `runBatch` is given it: an `AgentRunner`. */
export interface NestedRunner {
  lanes(): LaneSnapshot[];
  close(): Promise<void>;
}

/** What a batch needs of a runner: how to run an agent below a call, in the same lanes and by the same clock. */
export interface BatchSide {
  readonly lanes: Lanes;
  readonly clock: Clock;
  readonly deafBodies: DeafBodies;
  readonly startNested: StartNested;
}

/** Kept beside the runners: users see nothing of it. */
const sides = new WeakMap<object, BatchSide>();

export function showBatchSide(runner: NestedRunner, side: BatchSide): void {
  sides.set(runner, side);
}

/** `undefined` for anything but a runner. */
export function batchSideOf(runner: unknown): BatchSide | undefined {
  return typeof runner === "object" && runner !== null ? sides.get(runner) : undefined;
}
