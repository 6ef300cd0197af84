import type { ErrorJson } from "../base/errors.ts";
import type { Decision, PendingCall } from "../protocol/gate.ts";
import type { Message, ToolCall } from "../protocol/message.ts";
import type { FinishReason } from "../protocol/model.ts";
import type { ToolStatus } from "../protocol/tool-result.ts";
import type { Usage } from "../protocol/usage.ts";

/** Where a call stands: its run's path, its turn from 1, its position in the batch from 0. */
export interface CallPlace {
  path: string;
  turn: number;
  position: number;
}

/** A call's result as it is kept: plain JSON. */
export interface RecordedResult {
  status: ToolStatus;
  content: string;
  value?: unknown;
  error?: ErrorJson;
  mayHaveLanded: boolean;
}

/** What a call wrote to its run's state: keys with their last value, or gone. */
export type RecordedDelta = ({ key: string; value: unknown } | { key: string; gone: true })[];

/** A run, or one nested in an `agentTool` call, begins. */
export interface RunBegun {
  kind: "run_begun";
  path: string;
  agent: string;
  tenant: string;
  messages: Message[];
  /** The state given to it, over what its agent declares. */
  state: Record<string, unknown>;
}

/** A model has answered. */
export interface ModelAnswered {
  kind: "model_answered";
  path: string;
  turn: number;
  content: string;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
  usage: Usage;
  vendor?: unknown;
}

/** A call has passed its gates, or was set aside for somebody outside. */
export interface CallGated extends CallPlace {
  kind: "call_gated";
  /** The input form, as gates left it. */
  input: Record<string, unknown>;
  parallelSafe: boolean;
  /** As somebody who approved it wrote its arguments. */
  approved?: Record<string, unknown>;
  /** Set when it waits. */
  pending?: PendingCall;
}

/** Somebody outside has answered a call that waited. */
export interface CallDecided extends CallPlace {
  kind: "call_decided";
  decision: Decision;
}

/** A call is about to be dispatched: recorded before its body starts (`Semantics 11.1`). */
export interface CallBegun extends CallPlace {
  kind: "call_begun";
  attempt: number;
  /** As declared then: the stricter of this and what is declared later wins (`Semantics 11.2`). */
  idempotent: boolean;
}

/** A call has its result: recorded before the model sees it. */
export interface CallSettled extends CallPlace {
  kind: "call_settled";
  result: RecordedResult;
  delta: RecordedDelta;
}

/** What a run nested in this one took of its models: once its call has a result, that run is not gone through again. */
export interface UsageSpent {
  kind: "usage_spent";
  path: string;
  usage: Usage;
  /** The path of that run, when it is continued for as long as its call has no result: then it tells this again. */
  below?: string;
}

/**
 * A model's answer came out otherwise than it was streamed, or was never whole: what stands of that turn's calls before
 * this, and of runs below them, never was (`Semantics 3.10`).
 */
export interface CallsWithdrawn {
  kind: "calls_withdrawn";
  path: string;
  turn: number;
}

/** One line of a run's journal. Plain JSON, in the order in which it happened. */
export type JournalEntry =
  | RunBegun
  | ModelAnswered
  | CallGated
  | CallDecided
  | CallBegun
  | CallSettled
  | CallsWithdrawn
  | UsageSpent;
