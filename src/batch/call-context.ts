import type { Clock } from "../base/clock.ts";
import { describeThrown } from "../base/describe-thrown.ts";
import { ConfigurationError } from "../base/errors.ts";
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
export class CallContext implements ToolContext {
  readonly signal: AbortSignal;
  readonly tenant: string;
  readonly runId: string;
  readonly path: string;
  readonly depth: number;
  readonly callId: string;
  readonly tool: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly context: unknown;
  readonly state: ToolState;
  readonly clock: Clock;
  readonly #attempt: Attempt;

  constructor(attempt: Attempt, signal: AbortSignal, state: ToolState) {
    const { call } = attempt;
    const { scope } = call;
    this.#attempt = attempt;
    this.signal = signal;
    this.tenant = scope.tenant;
    this.runId = scope.runId;
    this.path = scope.path;
    this.depth = scope.depth;
    this.callId = call.id;
    this.tool = call.name;
    this.attempt = attempt.number;
    this.idempotencyKey = call.key;
    this.context = scope.context;
    this.state = state;
    this.clock = scope.clock;
  }

  readonly progress = (fraction: number, note?: string): void => {
    const isFraction = typeof fraction === "number" && fraction >= 0 && fraction <= 1;
    if (!this.#attempt.isOpen) return;
    if (!isFraction) this.#complain("ctx.progress", "a fraction from 0 to 1", fraction);
    else if (note !== undefined && typeof note !== "string") this.#complain("ctx.progress note", "a text", note);
    else {
      const detail = note ?? `${Math.round(fraction * 100)} %`;
      const noted = note === undefined ? {} : { note };
      this.#attempt.call.tellOfBody({ kind: "tool_progress", detail, fraction, ...noted });
    }
  };

  readonly log = (message: string, fields?: Readonly<Record<string, unknown>>): void => {
    if (!this.#attempt.isOpen) return;
    if (typeof message !== "string") this.#complain("ctx.log", "a text", message);
    else {
      const kept = fields === undefined ? {} : { fields: readable(fields) };
      // Reading the fields may run code of the body's own, and that may end the call.
      if (this.#attempt.isOpen) this.#attempt.call.tellOfBody({ kind: "tool_log", detail: message, message, ...kept });
    }
  };

  /** What is said for people must not fail a call half way through its side effects, nor throw into a timer of its. */
  #complain(path: string, expected: string, came: unknown): void {
    const { call } = this.#attempt;
    const message = `${path}: expected ${expected}, got ${showValue(came)} from ${call.name} (${call.id})`;
    call.scope.report(new ConfigurationError(message));
  }

  readonly run = <Output = unknown>(
    agent: AgentLike<Output>,
    input: string | readonly Message[],
    options: NestedRunOptions = {},
  ): Promise<RunLike<Output>> => this.#attempt.startNested(agent, input, options) as Promise<RunLike<Output>>;
}

/** A line for people is not worth failing a call for: what has no JSON is said to have none. */
function readable(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return plainJson(fields) as Record<string, unknown>;
  } catch (error) {
    return { unreadable: describeThrown(error) };
  }
}
