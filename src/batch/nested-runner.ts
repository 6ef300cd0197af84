import type { Clock } from "../base/clock.ts";
import type { Lanes } from "../lanes/lanes.ts";
import type { DeafBodies } from "./deaf-bodies.ts";
import type { StartNested } from "./run-scope.ts";

/** Where a runner keeps what a batch needs of it. */
export const BATCH_SIDE: unique symbol = Symbol.for("lanekeeper.batchSide") as never;

/** What a batch needs of a runner: how to run an agent below a call, in the same lanes and by the same clock. */
export interface BatchSide {
  readonly lanes: Lanes;
  readonly clock: Clock;
  readonly deafBodies: DeafBodies;
  readonly startNested: StartNested;
}

/** A runner, as far as `runBatch` uses it: an `AgentRunner`. */
export interface NestedRunner {
  /** @internal */
  readonly [BATCH_SIDE]: BatchSide;
}
