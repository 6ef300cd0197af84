/**
 * One run at work: model → batch → results → model, until it ends (`Semantics 2.1`).
 *
 * X1. It resolves in every ending, with a complete transcript; what ended it is `stop`'s first reason, or its own limit.
 * X2. Runs nested in its calls have settled before it does, so that its events and usage are whole.
 * X3. After it has settled nothing of it is left: no timer, no listener on the caller's signal.
 */
import { linkAbort } from "../base/abort-link.ts";
import { copyJson } from "../base/copy-json.ts";
import { describeThrown } from "../base/describe-thrown.ts";
import { CancelledError, ConfigurationError, errorJson, InternalError, LanekeeperError } from "../base/errors.ts";
import { isInstance } from "../base/is-instance.ts";
import { lendSignal } from "../base/lazy-signal.ts";
import { plainJson } from "../base/plain-json.ts";
import { showValue } from "../base/show-value.ts";
import { wellFormed } from "../base/well-formed.ts";
import { DeadlineExceededError } from "../batch/batch-errors.ts";
import type { DeadlineConfig } from "../batch/deadline-config.ts";
import { EarlyCalls, withdrawCalls } from "../batch/early-calls.ts";
import { type BatchOutcome, runCalls } from "../batch/run-calls.ts";
import type { RunScope } from "../batch/run-scope.ts";
import { failure, Stopped, type StopReason } from "../batch/stop.ts";
import type { RunHistory } from "../journal/history.ts";
import type { Message, ToolMessage } from "../protocol/message.ts";
import type { ModelProvider, ModelRequest, ModelResponse } from "../protocol/model.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import { ToolFailedError } from "../tools/tool-errors.ts";
import { addUsage } from "./add-usage.ts";
import type { Agent, InstructionsContext } from "./agent.ts";
import { askModel, type DeltaSink } from "./ask-model.ts";
import { copyMessages } from "./copy-messages.ts";
import { askForRepair, readOutput } from "./read-output.ts";
import type { Run } from "./run.ts";
import { OutputInvalidError, ProviderError, TurnLimitExceededError } from "./runner-errors.ts";
import { StreamedCalls } from "./streamed-calls.ts";

/** What an execution is made of. */
export interface ExecutionParts {
  readonly scope: RunScope;
  readonly agent: Agent<unknown>;
  readonly provider: ModelProvider;
  readonly deadlines: DeadlineConfig;
  /** The transcript so far, put right. */
  readonly messages: Message[];
  readonly signal: AbortSignal | undefined;
  /** Whether no run of the same runner stands above: one that does keeps the deadline on the whole. */
  readonly isOutermost: boolean;
  /** Whether somebody watches the text as it comes. */
  readonly streams: boolean;
}

type Ending =
  | { readonly status: "completed"; readonly output: unknown }
  | { readonly status: "failed" | "cancelled"; readonly error: LanekeeperError }
  | { readonly status: "suspended"; readonly outcome: BatchOutcome };

export class Execution {
  readonly scope: RunScope;
  /** The same as `start` gives: there before it starts, so that whoever must wait for it can be told of it first. */
  readonly settled: Promise<Run<unknown>>;
  readonly #parts: ExecutionParts;
  readonly #messages: Message[];
  readonly #results: ToolResult[] = [];
  readonly #seenIds: Set<string> = new Set();
  readonly #history: RunHistory | undefined;
  /** Of the response that streams now. */
  #early: EarlyCalls | undefined;
  /** Whether the model was told that its last answer did not fit: it is told once. */
  #isRepaired = false;
  #settle: (run: Promise<Run<unknown>>) => void = () => {};

  constructor(parts: ExecutionParts) {
    this.scope = parts.scope;
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#parts = parts;
    this.#history = parts.scope.history?.run(parts.scope.path);
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
    if (this.#history !== undefined) scope.events.emit({ kind: "run_resumed" });
    else {
      const { path, tenant, state } = scope;
      const messages = [...this.#messages];
      scope.recorder?.append({ kind: "run_begun", path, agent: agent.name, tenant, messages, state: state.toJSON() });
      scope.events.emit({ kind: "run_started", agent: agent.name, tenant });
    }
    const unlink = signal === undefined ? undefined : linkAbort(signal, () => this.cancel(cancelledBy(signal)));
    const timer =
      runSeconds === undefined || !this.#parts.isOutermost
        ? undefined
        : scope.clock.setTimer(runSeconds * 1000, () => this.#deadline("runSeconds", runSeconds));
    let ending = await this.#untilEnd();
    while (scope.nestedRuns.size > 0) await Promise.all(scope.nestedRuns);
    ending = await this.#letGo(ending);
    unlink?.();
    timer?.cancel();
    scope.activity.end("busy");
    this.#tellEnding(ending);
    scope.deafBodies.runSettled();
    return Object.freeze({
      id: scope.runId,
      ...told(ending),
      messages: this.#messages,
      events: scope.events.settle(),
      results: this.#results,
      usage: { ...scope.usage },
      state: scope.state.toJSON(),
    }) as Run<unknown>;
  }

  /** The outermost run's journal is let go of. A run that waits and that nobody could resume has failed. */
  async #letGo(ending: Ending): Promise<Ending> {
    const { recorder, depth, tenant } = this.scope;
    if (recorder === undefined || depth > 0) return ending;
    if (ending.status === "suspended") {
      try {
        await recorder.release({ status: "suspended", tenant, pending: ending.outcome.pending });
        return ending;
      } catch (error) {
        return this.#fail(error as LanekeeperError, ending.outcome);
      }
    }
    const released = recorder.release({ status: "ended" }).catch((error: unknown) => {
      // One that ended because nothing can be recorded says so itself.
      if (ending.status === "completed" || ending.error !== error) this.scope.report(error);
    });
    // A run that was stopped settles at once, also over a journal that never answers.
    if (ending.status === "completed") await released;
    return ending;
  }

  /** Ends a run that was to wait: what it waited for is answered, so that the transcript is whole. */
  #fail(error: LanekeeperError, { results, answerAll }: BatchOutcome): Ending {
    const all = answerAll(failure(error));
    this.#results.splice(this.#results.length - results.length, results.length, ...all);
    for (const result of all) this.#messages.push(answer(result));
    return { status: "failed", error };
  }

  async #untilEnd(): Promise<Ending> {
    const { stop } = this.scope;
    try {
      return await this.#turns();
    } catch (threw) {
      if (isInstance(threw, Stopped) && stop.reason !== undefined) return endingOf(stop.reason);
      const error = LanekeeperError.is(threw) ? threw : new InternalError("a run threw", { cause: threw });
      // Whatever may still be in flight is told.
      stop.fire(failure(error));
      return endingOf(stop.reason as StopReason);
    } finally {
      // A response that never came is in no transcript. What calls of it went out for is not lost.
      for (const result of this.#early?.batch?.results() ?? []) this.#results.push(result);
    }
  }

  async #turns(): Promise<Ending> {
    const { scope } = this;
    const { maxTurns } = this.#parts.agent;
    this.#replayState();
    for (const usage of this.#history?.spent ?? []) addUsage(scope.usage, usage);
    for (let turn = 1; ; turn++) {
      const response = await this.#ask(turn);
      if (response.toolCalls.length === 0) {
        this.#messages.push(assistant(response, undefined));
        const output = await this.#output(response, turn);
        if (output !== undefined) return { status: "completed", output: output.output };
        continue;
      }
      const refusal = refusalOf(response, turn, maxTurns);
      const { toolCalls: calls } = response;
      const early = this.#early;
      // From here its results are the turn's.
      this.#early = undefined;
      const outcome = await runCalls(scope, { turn, calls, seenIds: this.#seenIds, refusal, early });
      const recorded = scope.recorder?.settled();
      // A journal that never answers must not outlast a cancel or a deadline.
      if (recorded !== undefined) await scope.stop.until(recorded);
      this.#messages.push(assistant(response, outcome.calls));
      for (const result of outcome.results) this.#results.push(result);
      // A stop that came in time has left none pending; one that comes later changes nothing any more.
      if (outcome.pending.length > 0) return { status: "suspended", outcome };
      for (const result of outcome.results) this.#messages.push(answer(result));
      // What was answered and done before a resume is gone through to its end, also when that was stopped at once.
      if (this.#isKnown(turn + 1)) continue;
      if (scope.stop.reason !== undefined) throw new Stopped();
      if (turn >= maxTurns) throw new TurnLimitExceededError(maxTurns);
    }
  }

  #isKnown(turn: number): boolean {
    return this.#history?.answers.has(turn) === true;
  }

  /** Merges what calls wrote before a resume. A reducer that throws now ends the run, and loses no result. */
  #replayState(): void {
    const { state, stop } = this.scope;
    for (const delta of this.#history?.deltas ?? []) {
      try {
        state.replay(delta);
      } catch (threw) {
        const message = `a reducer of the run's state failed on what was written before: ${describeThrown(threw)}`;
        stop.fire(failure(new ToolFailedError(message, { cause: threw })));
      }
    }
  }

  /** What the run comes to. Nothing when the model was told, for once, what is wrong with its answer. */
  async #output({ content }: ModelResponse, turn: number): Promise<{ readonly output: unknown } | undefined> {
    const { agent } = this.#parts;
    const reading = readOutput(agent.output, content);
    const read = this.#isKnown(turn + 1) ? await reading : await this.scope.stop.race(reading);
    if ("output" in read) return read;
    if (this.#isRepaired || turn >= agent.maxTurns) throw new OutputInvalidError(agent.name, read.problems);
    this.#isRepaired = true;
    this.#messages.push({ role: "user", content: askForRepair(read.problems) });
    return undefined;
  }

  async #instructions(ask: (ctx: InstructionsContext) => unknown, turn: number): Promise<string> {
    const { name } = this.#parts.agent;
    const { stop, tenant, runId, path, context, state } = this.scope;
    const ctx = { tenant, runId, path, context, turn, state: state.toJSON() };
    const at = `agent ${JSON.stringify(name)}.instructions`;
    try {
      const said: unknown = await stop.ask((signal) => ask({ ...ctx, signal }));
      if (typeof said === "string") return wellFormed(said);
      throw new ConfigurationError(`${at}: expected a text, got ${showValue(said)}`);
    } catch (threw) {
      if (isInstance(threw, Stopped) || isInstance(threw, ConfigurationError)) throw threw;
      throw new ConfigurationError(`${at}: expected a text, but it threw: ${describeThrown(threw)}`, { cause: threw });
    }
  }

  async #ask(turn: number): Promise<ModelResponse> {
    const { scope } = this;
    const answered = this.#history?.answers.get(turn);
    if (answered !== undefined) {
      addUsage(scope.usage, answered.usage);
      return answered;
    }
    const { agent, provider, deadlines } = this.#parts;
    const { instructions } = agent;
    const request: ModelRequest = {
      model: agent.model,
      instructions: typeof instructions === "string" ? instructions : await this.#instructions(instructions, turn),
      messages: copyMessages(this.#messages),
      tools: copyJson(scope.tools.schemas()),
      ...(agent.output === undefined ? {} : { output: copyJson(agent.output.schema) }),
      settings: copyJson(agent.settings) as Record<string, unknown>,
    };
    const { runId: id, path, tenant, recorder } = scope;
    // What went out before an answer that a crash cut off never was: the model is asked anew.
    if (this.#history?.unanswered === turn) withdrawCalls(scope, turn);
    const lent = scope.stop.lend();
    const call = lendSignal({ run: { id, path, turn, agent: agent.name, tenant } }, () => lent.signal);
    if (scope.stop.reason !== undefined) throw new Stopped();
    scope.events.emit({ kind: "model_requested", turn, model: agent.model });
    // The answer's place among the events is before that of its calls, also when some of those go out first.
    const answer = scope.events.openSection();
    const early = this.#openEarly(turn);
    const onDelta = this.#listen(turn, early);
    const { modelCallSeconds } = deadlines;
    const timer =
      modelCallSeconds === undefined
        ? undefined
        : scope.clock.setTimer(modelCallSeconds * 1000, () => this.#deadline("modelCallSeconds", modelCallSeconds));
    try {
      const response = await askModel(provider, request, call, scope.stop, onDelta);
      const { usage, finishReason, toolCalls } = response;
      addUsage(scope.usage, usage);
      if (early?.isBorneOut(toolCalls) === false) {
        throw new ProviderError(`${provider.name}: expected a response with the calls that its stream had, got others`);
      }
      recorder?.append({ kind: "model_answered", path, turn, ...recordable(response) });
      const told = {
        kind: "model_responded",
        turn,
        finishReason,
        calls: toolCalls.length,
        usage: { ...usage },
      } as const;
      scope.events.emit(told, answer);
      return response;
    } finally {
      timer?.cancel();
      lent.letGo();
    }
  }

  /** Takes calls up while the model streams (`Semantics 3.10`). */
  #openEarly(turn: number): EarlyCalls | undefined {
    const isEager = this.scope.dispatch === "eager" && this.#parts.provider.stream !== undefined;
    this.#early = isEager ? new EarlyCalls(this.scope, turn, this.#seenIds) : undefined;
    return this.#early;
  }

  #listen(turn: number, early: EarlyCalls | undefined): DeltaSink | undefined {
    const { events } = this.scope;
    const { streams, agent } = this.#parts;
    if (early === undefined && !streams) return undefined;
    // Nothing goes out in a turn whose results no model would see (`Semantics 2.11`).
    const takesUp = early !== undefined && turn < agent.maxTurns;
    const streamed = takesUp ? new StreamedCalls((call) => early.offer(call)) : undefined;
    return (delta) => {
      const { type, text } = delta;
      if (type !== "text") streamed?.take(delta);
      else if (streams && typeof text === "string") events.emit({ kind: "text_delta", turn, text }, undefined, true);
    };
  }

  #deadline(name: "runSeconds" | "modelCallSeconds", seconds: number): void {
    this.cancel(failure(new DeadlineExceededError(name, seconds)));
  }

  #tellEnding(ending: Ending): void {
    const { events } = this.scope;
    switch (ending.status) {
      case "completed":
        events.emit({ kind: "run_completed" });
        return;
      case "suspended":
        events.emit({ kind: "run_suspended", pending: copyJson(ending.outcome.pending) });
        return;
      case "failed":
        events.emit({ kind: "run_failed", error: errorJson(ending.error) });
        return;
      case "cancelled":
        events.emit({ kind: "run_cancelled", error: errorJson(ending.error) });
    }
  }
}

/** A response as a journal keeps it: what was no argument before is none after. */
function recordable(response: ModelResponse): ModelResponse {
  const toolCalls = response.toolCalls.map(({ id, name, args }) => ({
    id: typeof id === "string" ? id : "",
    name: typeof name === "string" ? name : "",
    args: recordableArgs(args),
  }));
  return { ...response, toolCalls };
}

function recordableArgs(args: unknown): unknown {
  try {
    return plainJson(args) ?? "";
  } catch {
    return "arguments that could not be read";
  }
}

/** What the run resolves to of its ending. */
function told(ending: Ending): object {
  return ending.status === "suspended" ? { status: ending.status, pending: ending.outcome.pending } : ending;
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
