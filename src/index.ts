export type { Clock, Timer } from "./base/clock.ts";
export { systemClock } from "./base/clock.ts";
export type { ErrorJson } from "./base/errors.ts";
export { CancelledError, ConfigurationError, InternalError, LanekeeperError } from "./base/errors.ts";
export type { Ids } from "./base/ids.ts";
export { systemIds } from "./base/ids.ts";
export type { Random } from "./base/random.ts";
export { systemRandom } from "./base/random.ts";
export type { DeadlineName } from "./batch/batch-errors.ts";
export { DeadlineExceededError, GuardrailViolationError } from "./batch/batch-errors.ts";
export type { DeadlineOptions } from "./batch/deadline-config.ts";
export { DeadlineConfig } from "./batch/deadline-config.ts";
export type { Bound, StartRate } from "./lanes/bound.ts";
export type { ConcurrencyOptions, TenantBound } from "./lanes/concurrency-config.ts";
export { ConcurrencyConfig } from "./lanes/concurrency-config.ts";
export {
  LaneDeadlockError,
  LaneFullError,
  LaneStoreUnavailableError,
  LaneWaitExceededError,
} from "./lanes/lane-errors.ts";
export type * from "./protocol/event.ts";
export type * from "./protocol/gate.ts";
export type * from "./protocol/json-schema.ts";
export type * from "./protocol/message.ts";
export type * from "./protocol/model.ts";
export type * from "./protocol/tool-result.ts";
export type * from "./protocol/usage.ts";
export type { ArgsOf, InputSchema, ToolOptions } from "./tools/define-tool.ts";
export { defineTool } from "./tools/define-tool.ts";
export type { RetryOptions } from "./tools/retry-policy.ts";
export type {
  ApprovalContext,
  InputCheck,
  InputProblem,
  Reconcile,
  Reconciled,
  RetryPolicy,
  Tool,
} from "./tools/tool.ts";
export type { AgentLike, NestedRunOptions, RunLike, ToolContext, ToolState } from "./tools/tool-context.ts";
export {
  ToolDeniedError,
  ToolFailedError,
  ToolIndeterminateError,
  ToolInputError,
  ToolNotFoundError,
  ToolOutputError,
  ToolStoppedError,
  ToolTimedOutError,
} from "./tools/tool-errors.ts";
export { ToolRegistry } from "./tools/tool-registry.ts";
