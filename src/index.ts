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
export { currentCall } from "./batch/current-call.ts";
export type { DeadlineOptions } from "./batch/deadline-config.ts";
export { DeadlineConfig } from "./batch/deadline-config.ts";
export type { LimitOptions } from "./batch/limits.ts";
export type { NestedRunner } from "./batch/nested-runner.ts";
export { type BatchOptions, runBatch } from "./batch/run-batch.ts";
export type { OnToolError } from "./batch/run-scope.ts";
export type { Reducer, StateDeclaration, StateKey } from "./batch/run-state.ts";
export { CassetteMismatchError } from "./cassette/cassette-errors.ts";
export type { Claim, Journal, PendingFilter, Release } from "./journal/journal.ts";
export type * from "./journal/journal-entry.ts";
export { JournalError } from "./journal/journal-errors.ts";
export { MemoryJournal } from "./journal/memory-journal.ts";
export type { Bound, StartRate } from "./lanes/bound.ts";
export type { ConcurrencyChanges, ConcurrencyOptions, TenantBound } from "./lanes/concurrency-config.ts";
export { ConcurrencyConfig } from "./lanes/concurrency-config.ts";
export {
  LaneDeadlockError,
  LaneFullError,
  LaneStoreUnavailableError,
  LaneWaitExceededError,
} from "./lanes/lane-errors.ts";
export { Lanes, type LanesOptions } from "./lanes/lanes.ts";
export type { LaneHolder, LaneSnapshot } from "./lanes/snapshot.ts";
export type * from "./protocol/event.ts";
export type * from "./protocol/gate.ts";
export type * from "./protocol/json-schema.ts";
export type * from "./protocol/message.ts";
export type * from "./protocol/model.ts";
export type * from "./protocol/tool-result.ts";
export type * from "./protocol/usage.ts";
export {
  Agent,
  type AgentConstructor,
  type AgentOptions,
  type FreeTextAgentOptions,
  type InstructionsContext,
  type StructuredAgentOptions,
} from "./runner/agent.ts";
export { AgentRunner } from "./runner/agent-runner.ts";
export { type AgentToolOptions, agentTool } from "./runner/agent-tool.ts";
export type { ResumeArguments, ResumeOptions } from "./runner/resume-options.ts";
export type { Run } from "./runner/run.ts";
export type { RunArguments, RunOptions } from "./runner/run-options.ts";
export type { RunStream } from "./runner/run-stream.ts";
export { OutputInvalidError, ProviderError, TurnLimitExceededError } from "./runner/runner-errors.ts";
export type { RunnerOptions } from "./runner/runner-options.ts";
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
  EventLoopStalledError,
  ToolDeniedError,
  ToolFailedError,
  ToolIndeterminateError,
  ToolInputError,
  ToolNotFoundError,
  ToolOutputError,
  ToolStoppedError,
  ToolTimedOutError,
  WorkersBusyError,
  type WorkersPressure,
} from "./tools/tool-errors.ts";
export { ToolRegistry } from "./tools/tool-registry.ts";
