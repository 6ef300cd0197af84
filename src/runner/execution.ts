/**
 * One run at work: model → batch → results → model, until it ends (`Semantics 2.1`).
 *
 * X1. It resolves in every ending, with a complete transcript; what ended it is `stop`'s first reason, or its own limit.
 * X2. Runs nested in its calls have settled before it does, so that its events and usage are whole.
 * X3. After it has settled nothing of it is left: no timer, no listener on the caller's signal.
 */
import { derivedSignal, linkAbort } from "../base/abort-link.ts";
import { CancelledError, InternalError, LanekeeperError } from "../base/errors.ts";
import { runCalls } from "../batch/batch.ts";
import { DeadlineExceededError } from "../batch/batch-errors.ts";
import type { DeadlineConfig } from "../batch/deadline-config.ts";
import type { RunScope } from "../batch/run-scope.ts";
import { Stopped, type StopReason } from "../batch/stop.ts";
import type { PendingCall } from "../protocol/gate.ts";
import type { Message, ToolMessage } from "../protocol/message.ts";
import type { ModelProvider, ModelRequest, ModelResponse } from "../protocol/model.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import type { Agent } from "./agent.ts";
import { askModel } from "./ask-model.ts";
import type { Run } from "./run.ts";
import { TurnLimitExceededError } from "./runner-errors.ts";

/** What an execution is made of. */
export interface ExecutionParts {
  readonly scope: RunScope;
  readonly agent: Agent<unknown>;
  readonly provider: ModelProvider;
  readonly deadlines: DeadlineConfig;
  /** The transcript so far, put right. */
  readonly messages: Message[];
  readonly signal: AbortSignal | undefined;
  /** Whether somebody watches the text as it comes. */
  readonly streams: boolean;
}

type Ending =
  | { readonly status: "completed"; readonly output: unknown }
  | { readonly status: "failed" | "cancelled"; readonly error: LanekeeperError }
  | { readonly status: "suspended"; readonly pending: readonly PendingCall[] };

export class Execution {
  readonly scope: RunScope;
  /** The same as `start` gives: there before it starts, so that whoever must wait for it can be told of it first. */
  readonly settled: Promise<Run<unknown>>;
  readonly #parts: ExecutionParts;
  readonly #messages: Message[];
  readonly #results: ToolResult[] = [];
  readonly #seenIds: Set<string> = new Set();
  #settle: (run: Promise<Run<unknown>>) => void = () => {};

  constructor(parts: ExecutionParts) {
    this.scope = parts.scope;
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#parts = parts;
    this.#messages = parts.messages;
    for (const message of parts.messages) {
      if (message.role === "assistant") for (const { id } of message.toolCalls ?? []) this.#seenIds.add(id);
    }
  }

  cancel(reason: StopReason): void {
    this.scope.stop.fire(reason);
  }

  /** Never rejects. Begins at once, and asks a model before it first awaits anything else. */
  start(): Promise<Run<unknown>> {
    this.#settle(this.#run());
    return this.settled;
  }

  async #run(): Promise<Run<unknown>> {
    const { scope } = this;
    const { signal, deadlines, agent } = this.#parts;
    const { runSeconds } = deadlines;
    scope.deafBodies.runStarted();
    scope.activity.begin("busy");
    scope.events.emit({ kind: "run_started", agent: agent.name, tenant: scope.tenant });
    const unlink = signal === undefined ? undefined : linkAbort(signal, () => this.cancel(cancelledBy(signal)));
    const timer =
      runSeconds === undefined || scope.depth > 0
        ? undefined
        : scope.clock.setTimer(runSeconds * 1000, () => this.#deadline("runSeconds", runSeconds));
    const ending = await this.#untilEnd();
    while (scope.nestedRuns.size > 0) await Promise.all(scope.nestedRuns);
    unlink?.();
    timer?.cancel();
    scope.activity.end("busy");
    this.#tellEnding(ending);
    scope.deafBodies.runSettled();
    return Object.freeze({
      id: scope.runId,
      ...ending,
      messages: this.#messages,
      events: scope.events.settle(),
      results: this.#results,
      usage: { ...scope.usage },
      state: scope.state.toJSON(),
    }) as Run<unknown>;
  }

  async #untilEnd(): Promise<Ending> {
    const { stop } = this.scope;
    try {
      return await this.#turns();
    } catch (threw) {
      if (threw instanceof Stopped && stop.reason !== undefined) return endingOf(stop.reason);
      const error = LanekeeperError.is(threw) ? threw : new InternalError("a run threw", { cause: threw });
      // Whatever may still be in flight is told.
      stop.fire({ status: "failed", error, why: error.message });
      return endingOf(stop.reason as StopReason);
    }
  }

  async #turns(): Promise<Ending> {
    const { scope } = this;
    const { maxTurns } = this.#parts.agent;
    for (let turn = 1; ; turn++) {
      const response = await this.#ask(turn);
      if (response.toolCalls.length === 0) {
        this.#messages.push(assistant(response, undefined));
        return { status: "completed", output: response.content };
      }
      const refusal = refusalOf(response, turn, maxTurns);
      const { toolCalls: calls } = response;
      const outcome = await runCalls(scope, { turn, calls, seenIds: this.#seenIds, refusal });
      this.#messages.push(assistant(response, outcome.calls));
      for (const result of outcome.results) this.#results.push(result);
      // A stop that came in time has left none pending; one that comes later changes nothing any more.
      if (outcome.pending.length > 0) return { status: "suspended", pending: outcome.pending };
      for (const result of outcome.results) this.#messages.push(answer(result));
      if (scope.stop.reason !== undefined) throw new Stopped();
      if (turn >= maxTurns) throw new TurnLimitExceededError(maxTurns);
    }
  }

  async #ask(turn: number): Promise<ModelResponse> {
    const { scope } = this;
    const { agent, provider, deadlines, streams } = this.#parts;
    const request: ModelRequest = {
      model: agent.model,
      instructions: agent.instructions,
      messages: structuredClone(this.#messages),
      tools: structuredClone(scope.tools.schemas()),
      settings: structuredClone(agent.settings) as Record<string, unknown>,
    };
    const { runId: id, path, tenant } = scope;
    // Of its own: what a provider leaves listening on it goes with the request, and does not pile up on the run's.
    const { signal, unlink } = derivedSignal(scope.stop.signal);
    const call = { signal, run: { id, path, turn, agent: agent.name, tenant } };
    const onText = streams
      ? (text: string) => scope.events.emit({ kind: "text_delta", turn, text }, undefined, true)
      : undefined;
    if (scope.stop.reason !== undefined) throw new Stopped();
    scope.events.emit({ kind: "model_requested", turn, model: agent.model });
    const { modelCallSeconds } = deadlines;
    const timer =
      modelCallSeconds === undefined
        ? undefined
        : scope.clock.setTimer(modelCallSeconds * 1000, () => this.#deadline("modelCallSeconds", modelCallSeconds));
    try {
      const response = await askModel(provider, request, call, scope.stop, onText);
      const { usage, finishReason, toolCalls } = response;
      scope.usage.inputTokens += usage.inputTokens;
      scope.usage.outputTokens += usage.outputTokens;
      scope.usage.totalTokens += usage.totalTokens;
      scope.events.emit({ kind: "model_responded", turn, finishReason, calls: toolCalls.length, usage: { ...usage } });
      return response;
    } finally {
      timer?.cancel();
      unlink();
    }
  }

  #deadline(name: "runSeconds" | "modelCallSeconds", seconds: number): void {
    const error = new DeadlineExceededError(name, seconds);
    this.cancel({ status: "failed", error, why: error.message });
  }

  #tellEnding(ending: Ending): void {
    const { events } = this.scope;
    switch (ending.status) {
      case "completed":
        events.emit({ kind: "run_completed" });
        return;
      case "suspended":
        events.emit({ kind: "run_suspended", pending: structuredClone(ending.pending) as PendingCall[] });
        return;
      case "failed":
        events.emit({ kind: "run_failed", error: ending.error.toJSON() });
        return;
      case "cancelled":
        events.emit({ kind: "run_cancelled", error: ending.error.toJSON() });
    }
  }
}

function endingOf({ status, error }: StopReason): Ending {
  return { status, error };
}

function cancelledBy(signal: AbortSignal): StopReason {
  const error = new CancelledError("the run was cancelled by its signal", { cause: signal.reason });
  return { status: "cancelled", error, why: "the run was cancelled" };
}

/** Why none of a response's calls may run; `undefined` when they may (`Semantics 2.9`, `2.11`). */
function refusalOf({ finishReason }: ModelResponse, turn: number, maxTurns: number): string | undefined {
  if (finishReason === "length") return "the response was cut off";
  if (finishReason === "refusal") return "the model refused to go on";
  if (finishReason === "content_filter") return "the response was filtered";
  return turn >= maxTurns ? `the run's limit of ${maxTurns} turns was reached` : undefined;
}

function assistant(response: ModelResponse, toolCalls: readonly unknown[] | undefined): Message {
  return {
    role: "assistant",
    content: response.content,
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(response.vendor === undefined ? {} : { vendor: response.vendor }),
  } as Message;
}

function answer({ callId, name, content, status }: ToolResult): ToolMessage {
  return { role: "tool", callId, name, content, isError: status !== "ok" };
}
