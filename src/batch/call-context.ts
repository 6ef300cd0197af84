import { describeThrown } from "../base/describe-thrown.ts";
import { ConfigurationError } from "../base/errors.ts";
import { lendSignal } from "../base/lazy-signal.ts";
import { plainJson } from "../base/plain-json.ts";
import { showValue } from "../base/show-value.ts";
import type { Message } from "../protocol/message.ts";
import type { AgentLike, NestedRunOptions, RunLike, ToolContext, ToolState } from "../tools/tool-context.ts";
import type { Attempt } from "./attempt.ts";

/**
 * What one attempt's body is given.
 *
 * Its functions need no `this`, since bodies take them apart. Once the attempt is over they do nothing, whatever they are
 * given: they may be called from a timer, and what they threw there would end the process (`Semantics 2.8`). Nothing in
 * the runtime reads it, so that a body which writes to it changes nothing elsewhere.
 */
export function callContext(attempt: Attempt, state: ToolState): ToolContext {
  const { call } = attempt;
  const { scope } = call;
  const context: Omit<ToolContext, "signal"> = {
    tenant: scope.tenant,
    runId: scope.runId,
    path: scope.path,
    depth: scope.depth,
    callId: call.id,
    tool: call.name,
    attempt: attempt.number,
    idempotencyKey: call.key,
    context: scope.context,
    state,
    clock: scope.clock,
    progress: (fraction, note) => progress(attempt, fraction, note),
    log: (message, fields) => log(attempt, message, fields),
    run: <Output>(agent: AgentLike<Output>, input: string | readonly Message[], options: NestedRunOptions = {}) =>
      attempt.startNested(agent, input, options) as Promise<RunLike<Output>>,
  };
  return lendSignal(context, () => attempt.signal);
}

function progress(attempt: Attempt, fraction: number, note: string | undefined): void {
  if (!attempt.isOpen) return;
  const isFraction = typeof fraction === "number" && fraction >= 0 && fraction <= 1;
  if (!isFraction) complain(attempt, "ctx.progress", "a fraction from 0 to 1", fraction);
  else if (note !== undefined && typeof note !== "string") complain(attempt, "ctx.progress note", "a text", note);
  else {
    const detail = note ?? `${Math.round(fraction * 100)} %`;
    const noted = note === undefined ? {} : { note };
    attempt.call.tellOfBody({ kind: "tool_progress", detail, fraction, ...noted });
  }
}

function log(attempt: Attempt, message: string, fields: Readonly<Record<string, unknown>> | undefined): void {
  if (!attempt.isOpen) return;
  if (typeof message !== "string") complain(attempt, "ctx.log", "a text", message);
  else {
    const kept = fields === undefined ? {} : { fields: readable(fields) };
    // Reading the fields may run code of the body's own, and that may end the call.
    if (attempt.isOpen) attempt.call.tellOfBody({ kind: "tool_log", detail: message, message, ...kept });
  }
}

/** What is said for people must not fail a call half way through its side effects, nor throw into a timer of its. */
function complain({ call }: Attempt, path: string, expected: string, came: unknown): void {
  const message = `${path}: expected ${expected}, got ${showValue(came)} from ${call.name} (${call.id})`;
  call.scope.report(new ConfigurationError(message));
}

/** A line for people is not worth failing a call for: what has no JSON is said to have none. */
function readable(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return plainJson(fields) as Record<string, unknown>;
  } catch (error) {
    return { unreadable: describeThrown(error) };
  }
}
