import type { ErrorJson } from "../base/errors.ts";
import type { PendingCall } from "./gate.ts";
import type { FinishReason } from "./model.ts";
import type { Usage } from "./usage.ts";

/** What every event carries. */
export interface EventBase {
  /** Epoch milliseconds by the injected clock. */
  at: number;
  /** The id of the outermost run: one run and all nested in it share it. */
  runId: string;
  /** The run's place: `"0"`, or for one nested in turn 2, position 1: `"0/2.1"`. */
  path: string;
  /** Counts from 0: in the order of `run.events` there, in live order on the stream. */
  seq: number;
}

/** What every event of a call carries. `turn` counts from 1, `position` from 0. */
export interface ToolEventBase extends EventBase {
  callId: string;
  tool: string;
  tenant: string;
  turn: number;
  position: number;
  /**
   * One plain line about what happened, never what a tool returned. Of a failed call it is what the model is told, and may
   * repeat what its body threw.
   */
  detail: string;
}

/** How long a dispatched call waited for each kind of lane, in seconds. */
export interface WaitedSeconds {
  tenant: number;
  turn: number;
  tool: number;
  resource: number;
  /** Only when it waited for a call of the same tool with identical arguments. */
  arguments?: number;
  /** Only when it waited for another call that is not parallel-safe. */
  exclusive?: number;
}

export interface RunStartedEvent extends EventBase {
  kind: "run_started";
  agent: string;
  tenant: string;
}
export interface ModelRequestedEvent extends EventBase {
  kind: "model_requested";
  turn: number;
  model: string;
}
/** Live only: never in `run.events`. */
export interface TextDeltaEvent extends EventBase {
  kind: "text_delta";
  turn: number;
  text: string;
}
export interface ModelRespondedEvent extends EventBase {
  kind: "model_responded";
  turn: number;
  finishReason: FinishReason;
  calls: number;
  usage: Usage;
}
export interface ToolRequestedEvent extends ToolEventBase {
  kind: "tool_requested";
}
export interface GatePassedEvent extends ToolEventBase {
  kind: "gate_passed";
}
export interface GateRefusedEvent extends ToolEventBase {
  kind: "gate_refused";
}
/** The call passed its gates and stands before its phase and lanes; also when it need not wait. */
export interface ToolQueuedEvent extends ToolEventBase {
  kind: "tool_queued";
}
/** The call holds all its permits and its body starts. */
export interface ToolDispatchedEvent extends ToolEventBase {
  kind: "tool_dispatched";
  attempt: number;
  waitedSeconds: WaitedSeconds;
}
export interface ToolProgressEvent extends ToolEventBase {
  kind: "tool_progress";
  fraction: number;
  note?: string;
}
/** What a body wrote to `ctx.log`. */
export interface ToolLogEvent extends ToolEventBase {
  kind: "tool_log";
  message: string;
  fields?: Record<string, unknown>;
}
/** A body ended; says nothing of what it returned. */
export interface ToolCompletedEvent extends ToolEventBase {
  kind: "tool_completed";
  attempt: number;
  seconds: number;
}
/** The call's result, after the output gates. */
export interface ToolResultEvent extends ToolEventBase {
  kind: "tool_result";
  content: string;
}
/** The call failed, was stopped, or never went out. */
export interface ToolErrorEvent extends ToolEventBase {
  kind: "tool_error";
  status: "error" | "never_dispatched";
  error: ErrorJson;
  mayHaveLanded: boolean;
}
/** The call was stopped in flight and is not idempotent: its side effect may have landed. */
export interface ToolIndeterminateEvent extends ToolEventBase {
  kind: "tool_indeterminate";
  error: ErrorJson;
  mayHaveLanded: true;
}
/** An attempt failed and another follows after `backoffSeconds`. */
export interface ToolRetriedEvent extends ToolEventBase {
  kind: "tool_retried";
  attempt: number;
  backoffSeconds: number;
  error: ErrorJson;
}
/** The body outlived its verdict by `abandonSeconds` and its lane waits for it all the same (`Semantics 4.8`). */
export interface ToolOverdueEvent extends ToolEventBase {
  kind: "tool_overdue";
  seconds: number;
}
/** The body outlived its verdict by `abandonSeconds`; its permits went back although it still runs. */
export interface ToolAbandonedEvent extends ToolEventBase {
  kind: "tool_abandoned";
  seconds: number;
}
/** A body ended after its call's verdict; what it brought changes nothing in the run. */
export interface ToolLateResultEvent extends ToolEventBase {
  kind: "tool_late_result";
  seconds: number;
  outcome: "returned" | "threw";
  content: string;
}
export interface LoopStalledEvent extends EventBase {
  kind: "loop_stalled";
  seconds: number;
  tool?: string;
  where?: string;
}
export interface BatchResolvedEvent extends EventBase {
  kind: "batch_resolved";
  turn: number;
  calls: number;
  failed: number;
}
export interface RunSuspendedEvent extends EventBase {
  kind: "run_suspended";
  pending: PendingCall[];
}
export interface RunResumedEvent extends EventBase {
  kind: "run_resumed";
}
export interface RunCompletedEvent extends EventBase {
  kind: "run_completed";
}
export interface RunFailedEvent extends EventBase {
  kind: "run_failed";
  error: ErrorJson;
}
export interface RunCancelledEvent extends EventBase {
  kind: "run_cancelled";
  error: ErrorJson;
}

/** Events of one call. */
export type ToolEvent =
  | ToolRequestedEvent
  | GatePassedEvent
  | GateRefusedEvent
  | ToolQueuedEvent
  | ToolDispatchedEvent
  | ToolProgressEvent
  | ToolLogEvent
  | ToolCompletedEvent
  | ToolResultEvent
  | ToolErrorEvent
  | ToolIndeterminateEvent
  | ToolRetriedEvent
  | ToolOverdueEvent
  | ToolAbandonedEvent
  | ToolLateResultEvent;

/** Everything that happens in a run: a union on `kind`. */
export type RunEvent =
  | RunStartedEvent
  | ModelRequestedEvent
  | TextDeltaEvent
  | ModelRespondedEvent
  | ToolEvent
  | LoopStalledEvent
  | BatchResolvedEvent
  | RunSuspendedEvent
  | RunResumedEvent
  | RunCompletedEvent
  | RunFailedEvent
  | RunCancelledEvent;

/** The `kind` of an event. */
export type RunEventKind = RunEvent["kind"];
