import { copyJson } from "../base/copy-json.ts";
import type { PendingCall } from "../protocol/gate.ts";
import type { ToolCall } from "../protocol/message.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import { Batch } from "./batch.ts";
import type { Call } from "./call.ts";
import type { EarlyCalls } from "./early-calls.ts";
import { parseBatch } from "./parse-batch.ts";
import type { RunScope } from "./run-scope.ts";
import type { StopReason } from "./stop.ts";

/** What a turn asks for. */
export interface BatchRequest {
  /** From 1. */
  readonly turn: number;
  readonly calls: readonly ToolCall[];
  /** Ids that stand in the transcript already; those of this batch are added. */
  readonly seenIds: Set<string>;
  /** Why none of the calls may run (`Semantics 2.9`, `2.11`). */
  readonly refusal?: string | undefined;
  /** Those of the calls that the model had finished asking for while it streamed. */
  readonly early?: EarlyCalls | undefined;
}

/** What became of a turn's calls. */
export interface BatchOutcome {
  /** As the transcript keeps them. */
  readonly calls: ToolCall[];
  /** In call order; of a suspended batch those that have one. */
  readonly results: ToolResult[];
  /** Calls that wait for somebody outside, in call order. */
  readonly pending: PendingCall[];
  /** Gives those that wait, or were held back, the verdict of a run that stops. The results of all, in call order. */
  answerAll(reason: StopReason): ToolResult[];
}

/** Runs one batch. Never rejects: what stops the run is `scope.stop`'s to say. */
export async function runCalls(scope: RunScope, request: BatchRequest): Promise<BatchOutcome> {
  const batch = request.early?.batch ?? new Batch(scope, request.turn);
  const calls = parseBatch(scope, request, batch.calls);
  await batch.finish(calls, request.refusal);
  const results = batch.results();
  const pending = calls.flatMap((call) => (call.result === undefined ? call.waitsFor : []));
  const isNews = calls.some(({ known }) => known?.settled === undefined);
  if (pending.length === 0 && isNews) {
    const failures = results.filter(({ status }) => status !== "ok").length;
    const detail = { kind: "batch_resolved", turn: request.turn, calls: calls.length, failed: failures } as const;
    scope.events.emit(detail);
  }
  const answerAll = (reason: StopReason): ToolResult[] => {
    for (const call of calls) call.stop(reason);
    return batch.results();
  };
  return { calls: calls.map(shownOf), results, pending, answerAll };
}

/** A call as the transcript keeps it: with what somebody who approved it made of its arguments, since that is what ran. */
function shownOf({ asked, approved }: Call): ToolCall {
  return approved === undefined ? asked : { ...asked, args: copyJson(approved) };
}
