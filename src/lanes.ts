/** `lanekeeper/lanes`: several bounds at once over any asynchronous work. */

export type { Clock, Timer } from "./base/clock.ts";
export { CancelledError, ConfigurationError, InternalError, LanekeeperError } from "./base/errors.ts";
export type { Bound, StartRate } from "./lanes/bound.ts";
export {
  type ConcurrencyChanges,
  ConcurrencyConfig,
  type ConcurrencyOptions,
  type TenantBound,
} from "./lanes/concurrency-config.ts";
export { InProcessLaneStore, type InProcessLaneStoreOptions } from "./lanes/in-process-lane-store.ts";
export {
  LaneDeadlockError,
  LaneFullError,
  LaneStoreUnavailableError,
  LaneWaitExceededError,
} from "./lanes/lane-errors.ts";
export type { AcquireOptions, LaneRequest } from "./lanes/lane-request.ts";
export type { LaneStore, StoredPlaces, StoreLane } from "./lanes/lane-store.ts";
export { Lanes, type LanesOptions } from "./lanes/lanes.ts";
export { Permit } from "./lanes/permit.ts";
export type { LaneHolder, LaneSnapshot } from "./lanes/snapshot.ts";
export { Turn } from "./lanes/turn.ts";
export type { WaitedSeconds } from "./protocol/event.ts";
