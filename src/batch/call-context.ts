import type { Clock } from "../base/clock.ts";
import { refuse } from "../base/option-checks.ts";
import { plainJson } from "../base/plain-json.ts";
import type { Message } from "../protocol/message.ts";
import type { AgentLike, NestedRunOptions, RunLike, ToolContext, ToolState } from "../tools/tool-context.ts";
import type { Attempt } from "./attempt.ts";

/**
 * What one attempt's body is given, and who holds the attempt's permit.
 *
 * Its functions need no `this`, since bodies take them apart.
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

  /** The attempt behind a context; `undefined` for anything else that may hold a permit. */
  static attemptOf(holder: unknown): Attempt | undefined {
    return typeof holder === "object" && holder !== null && #attempt in holder ? holder.#attempt : undefined;
  }

  readonly progress = (fraction: number, note?: string): void => {
    if (typeof fraction !== "number" || !(fraction >= 0 && fraction <= 1)) {
      refuse("ctx.progress", "a fraction from 0 to 1", fraction);
    }
    if (note !== undefined && typeof note !== "string") refuse("ctx.progress note", "a text", note);
    if (!this.#attempt.isOpen) return;
    const detail = note ?? `${Math.round(fraction * 100)} %`;
    this.#attempt.call.tellOfBody({
      kind: "tool_progress",
      detail,
      fraction,
      ...(note === undefined ? {} : { note }),
    });
  };

  readonly log = (message: string, fields?: Readonly<Record<string, unknown>>): void => {
    if (typeof message !== "string") refuse("ctx.log", "a text", message);
    if (!this.#attempt.isOpen) return;
    const kept = fields === undefined ? {} : { fields: readable(fields) };
    this.#attempt.call.tellOfBody({ kind: "tool_log", detail: message, message, ...kept });
  };

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
    return { unreadable: error instanceof Error ? error.message : "fields without a JSON form" };
  }
}
