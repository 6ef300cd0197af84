/**
 * All calls of one turn, from what the model asked to one result each, in call order (`Semantics 2.2`).
 *
 * parse → gates, one call at a time → phases → output gates and merge, one call at a time. The plan is `phases.ts`'s, the
 * way to a dispatch `dispatcher.ts`'s, one dispatch `attempt.ts`'s, the verdicts `call.ts`'s.
 *
 * B1. Every call that is not set aside for somebody outside has its one result when `run` resolves, in every ending.
 * B2. A stop settles all calls first, then stops nested runs, then aborts signals, in one step.
 * B3. Nothing is dispatched after the batch was closed, also not what held its places already.
 * B4. The batch never waits for a deaf body, but for one before the next phase (`Semantics 5.1`).
 */
import { describeThrown } from "../base/describe-thrown.ts";
import { InternalError, type LanekeeperError } from "../base/errors.ts";
import type { CallBegun } from "../journal/journal-entry.ts";
import type { Turn } from "../lanes/turn.ts";
import type { GateContext, PendingCall } from "../protocol/gate.ts";
import type { ToolCall } from "../protocol/message.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import { toolOutput } from "../tools/result-text.ts";
import type { Reconcile, Reconciled, Tool } from "../tools/tool.ts";
import { ToolFailedError, type ToolOutputError } from "../tools/tool-errors.ts";
import { Attempt } from "./attempt.ts";
import { DeadlineExceededError, GuardrailViolationError } from "./batch-errors.ts";
import type { Brought, Call } from "./call.ts";
import { Ceiling } from "./ceiling.ts";
import { isContinued } from "./continued-tools.ts";
import { type CallsBatch, Dispatcher } from "./dispatcher.ts";
import { type GateNote, type GateOutcome, type Gates, passGates } from "./gates.ts";
import { hasOutputGates, lost, passOutputGates, resultOf } from "./output-gates.ts";
import { parseBatch } from "./parse-batch.ts";
import { planPhases } from "./phases.ts";
import type { RunScope } from "./run-scope.ts";
import { failure, Stopped, type StopReason } from "./stop.ts";
import { neverDispatched, outcomeUnknown } from "./verdict.ts";

/** What a turn asks for. */
export interface BatchRequest {
  /** From 1. */
  readonly turn: number;
  readonly calls: readonly ToolCall[];
  /** Ids that stand in the transcript already; those of this batch are added. */
  readonly seenIds: Set<string>;
  /** Why none of the calls may run (`Semantics 2.9`, `2.11`). */
  readonly refusal?: string | undefined;
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
  const { calls, transcript } = parseBatch(scope, request);
  const batch = new Batch(scope, request.turn, calls);
  await batch.run();
  const results = calls.flatMap(({ result }) => result ?? []);
  const pending = calls.flatMap((call) => (call.result === undefined ? call.waitsFor : []));
  const isNews = calls.some(({ known }) => known?.settled === undefined);
  if (pending.length === 0 && isNews) {
    const failures = results.filter(({ status }) => status !== "ok").length;
    const detail = { kind: "batch_resolved", turn: request.turn, calls: calls.length, failed: failures } as const;
    scope.events.emit(detail);
  }
  const answerAll = (reason: StopReason): ToolResult[] => {
    for (const call of calls) call.stop(reason);
    return calls.flatMap(({ result }) => result ?? []);
  };
  return { calls: transcript, results, pending, answerAll };
}

class Batch implements CallsBatch {
  readonly #scope: RunScope;
  readonly #calls: readonly Call[];
  readonly turn: Turn;
  readonly #dispatcher: Dispatcher;
  readonly #gateContext: GateContext;
  readonly #failures: Call[] = [];
  /** Set by the first failure under `fail_run`: nothing goes out any more, and the stop is on its way. */
  #closed = false;
  /** While a reducer runs. */
  #isMerging = false;
  /** Calls before this position have been through the output gates. */
  #resolved = 0;

  constructor(scope: RunScope, turn: number, calls: readonly Call[]) {
    this.#scope = scope;
    this.#calls = calls;
    this.turn = scope.lanes.turn(scope.narrowings.at(-1), { name: `${scope.runId}/${scope.path}/${turn}` });
    const { stop, tenant, runId, path, context } = scope;
    this.#dispatcher = new Dispatcher(scope, this);
    this.#gateContext = { signal: stop.signal, tenant, runId, path, context };
  }

  async run(): Promise<void> {
    const unlink = this.#scope.stop.onFire((reason) => this.#stop(reason));
    const ceiling = this.#startCeiling();
    try {
      for (const call of this.#calls) {
        if (call.result?.status === "error" || call.result?.status === "indeterminate") this.#noteFailure(call);
      }
      await this.#passGates();
      const phases = planPhases(this.#calls);
      for (const [place, phase] of phases.entries()) {
        await this.#runPhase(phase);
        // A run below it waits for somebody: what the model asked for after it is held back (`Semantics 3.5`).
        if (phase.some(({ state, parallelSafe }) => state === "suspended" && !parallelSafe)) break;
        if (place < phases.length - 1) await this.#untilGone(phase);
      }
      // What a person answered behind the last phase.
      await this.#resolve(this.#calls.length - 1);
      await this.unlessClosed();
    } catch (ended) {
      // A fault of ours must not leave a call without its result.
      if (!(ended instanceof Stopped)) {
        this.#scope.stop.fire(failure(new InternalError("a batch threw", { cause: ended })));
      }
    } finally {
      ceiling?.cancel();
      this.#scope.activity.onChange(undefined);
      unlink();
    }
  }

  /** The ceiling on the tool phase stands still while nothing but people is waited for (`Semantics 7.4`). */
  #startCeiling(): Ceiling | undefined {
    const { toolCallSeconds: seconds, clock, activity } = this.#scope;
    if (seconds === undefined) return undefined;
    const ceiling = new Ceiling(clock, seconds, () => {
      this.#scope.stop.fire(failure(new DeadlineExceededError("toolCallSeconds", seconds)));
    });
    activity.onChange((state) => (state === "people" ? ceiling.pause() : ceiling.resume()));
    return ceiling;
  }

  async #passGates(): Promise<void> {
    const { approver, guardrails, hooks, stop, activity } = this.#scope;
    const gates: Gates = { approver, guardrails, hooks, context: this.#gateContext, stop, activity };
    for (const call of this.#calls) {
      await this.unlessClosed();
      const { tool } = call;
      if (call.result !== undefined || tool === undefined) continue;
      const outcome = await this.#outcomeOf(call, tool, gates);
      // Whoever was told of the last gate may have stopped the run: then the call has its verdict.
      if (stop.reason !== undefined) throw new Stopped();
      if (outcome !== undefined) this.#afterGates(call, outcome);
    }
    await this.unlessClosed();
  }

  /** What the gates make of a call. Nothing for one that stood behind them, or before one, when its run was suspended. */
  async #outcomeOf(call: Call, tool: Tool, gates: Gates): Promise<GateOutcome | undefined> {
    const { id, name, position, of, key, known } = call;
    const note: GateNote = (kind, detail) => call.tellOfGate(kind, detail);
    const gated = known?.gated;
    if (gated === undefined) {
      return passGates({ id, name, position, of, tool, input: call.input, pendingId: key }, gates, note);
    }
    call.input = gated.input;
    // The stricter of what was declared then and what is declared now.
    call.parallelSafe = gated.parallelSafe && tool.parallelSafe !== false;
    const { pending } = gated;
    if (pending === undefined) {
      call.state = "ready";
      // Held back again, it still waits for everything below it.
      if (isContinued(tool)) call.waitsFor = this.#waitingBelow(call);
      if (known?.begun !== undefined && !isContinued(tool)) await this.#settleUnknown(call, tool, known.begun);
      return undefined;
    }
    if (known?.decision === undefined) {
      call.state = "suspended";
      call.waitsFor = [pending];
      return undefined;
    }
    const answered = { decision: known.decision, reason: pending.reason };
    return passGates({ id, name, position, of, tool, input: gated.input, pendingId: key }, gates, note, answered);
  }

  #waitingBelow({ firstNestedPath: below }: Call): PendingCall[] {
    const waiting = [...(this.#scope.history?.waiting().values() ?? [])];
    return waiting
      .filter((one) => one.path === below || one.path.startsWith(`${below}/`))
      .map(({ pending }) => pending);
  }

  /** The process that ran the call has ended, and nobody has its outcome (`Semantics 11.2`). */
  async #settleUnknown(call: Call, tool: Tool, begun: CallBegun): Promise<void> {
    const isIdempotent = tool.idempotent && begun.idempotent;
    if (isIdempotent) return;
    const found = tool.reconcile === undefined ? undefined : await this.#reconcile(call, tool.reconcile, begun);
    if (found?.landed === false) {
      call.isUndone = true;
      return;
    }
    call.state = "answered";
    if (found?.landed === true) this.#answer(call, found.result);
    else this.fail(call, outcomeUnknown(call));
  }

  async #reconcile(
    call: Call,
    reconcile: Reconcile<unknown, unknown>,
    begun: CallBegun,
  ): Promise<Reconciled | undefined> {
    const { stop, report } = this.#scope;
    const attempt = new Attempt(call, begun.attempt, () => {});
    try {
      const check = await stop.race(Promise.resolve(call.tool?.validate(structuredClone(call.input))));
      if (check?.ok !== true) return undefined;
      const found: unknown = await stop.ask(() => reconcile(check.args, attempt.context));
      const { landed, result } = found as { landed: unknown; result?: unknown };
      if (landed === true) return { landed, result };
      return landed === false ? { landed } : undefined;
    } catch (threw) {
      if (threw instanceof Stopped) throw threw;
      report(threw);
      return undefined;
    } finally {
      attempt.dismiss();
    }
  }

  #afterGates(call: Call, outcome: GateOutcome): void {
    switch (outcome.kind) {
      case "refused":
        call.settle(outcome.result);
        return;
      case "failed":
        call.settle(outcome.result);
        this.#noteFailure(call);
        return;
      case "answered":
        call.input = outcome.input;
        this.#answer(call, outcome.value);
        return;
      case "suspended":
        if (!this.#scope.canSuspend) {
          call.settle(neverDispatched(call, NOBODY_ANSWERS[outcome.pending.reason]));
          return;
        }
        call.input = outcome.input;
        call.parallelSafe = outcome.parallelSafe;
        call.state = "suspended";
        call.waitsFor = [outcome.pending];
        this.#record(call, outcome);
        return;
      case "passed":
        call.input = outcome.input;
        call.parallelSafe = outcome.parallelSafe;
        call.state = "ready";
        this.#record(call, outcome);
        call.tell({ kind: "tool_queued", detail: "queued" });
    }
  }

  #record(call: Call, outcome: GateOutcome & { kind: "passed" | "suspended" }): void {
    const { input, parallelSafe } = outcome;
    const pending = outcome.kind === "suspended" ? { pending: outcome.pending } : {};
    this.#scope.recorder?.append({ kind: "call_gated", ...call.place, input, parallelSafe, ...pending });
  }

  #answer(call: Call, value: unknown): void {
    try {
      call.brought = { ...toolOutput(call.name, value, this.#scope.limits), delta: undefined };
    } catch (error) {
      const { message } = error as ToolOutputError;
      // What was found to have landed has; nothing else that is answered in its tool's place went out.
      if (call.wasDispatched) call.settle(lost(call, error as ToolOutputError));
      else call.settle(neverDispatched(call, message, error as ToolOutputError));
      this.#noteFailure(call);
    }
  }

  async #runPhase(phase: readonly Call[]): Promise<void> {
    const { activity } = this.#scope;
    const running = phase.map((call) => this.#dispatcher.run(call));
    // From here each call says itself what it is doing.
    activity.end("busy");
    try {
      await Promise.all(running);
    } finally {
      activity.begin("busy");
    }
    await this.unlessClosed();
    await this.#resolve((phase[phase.length - 1] as Call).position);
  }

  /** A phase is over when its bodies have ended or were abandoned (`Semantics 5.1`). */
  async #untilGone(phase: readonly Call[]): Promise<void> {
    await this.#scope.stop.race(Promise.all(phase.map(({ attempt }) => attempt?.gone())));
  }

  /** Takes what calls brought through the output gates and merges it, one at a time, in call order (`Semantics 3.4`, `6`). */
  async #resolve(lastPosition: number): Promise<void> {
    for (; this.#resolved <= lastPosition; this.#resolved++) {
      const call = this.#calls[this.#resolved] as Call;
      if (call.brought === undefined || call.result !== undefined) continue;
      if (hasOutputGates(call)) {
        const checked = await passOutputGates(call, call.brought, this.#gateContext);
        if ("result" in checked) {
          call.settle(checked.result);
          if (!(checked.result.error instanceof GuardrailViolationError)) this.#noteFailure(call);
          continue;
        }
        call.brought = checked.brought;
      }
      if (call.result === undefined) this.#merge(call, call.brought);
    }
  }

  /** `content` is what the model is shown instead of what the call brought. */
  #merge(call: Call, brought: Brought, content?: string): void {
    const { delta } = brought;
    this.#isMerging = true;
    try {
      if (delta !== undefined) this.#scope.state.merge(delta);
    } catch (threw) {
      const message = `a reducer of the run's state failed: ${describeThrown(threw)}`;
      call.settle(lost(call, new ToolFailedError(message, { tool: call.name, cause: threw })));
      this.#noteFailure(call);
    } finally {
      this.#isMerging = false;
    }
    const result = resultOf(call, brought);
    call.settle(content === undefined ? result : { ...result, content }, delta);
    // A reducer may have stopped the run: those behind its call are merged behind it.
    if (this.#scope.stop.reason !== undefined) for (const other of this.#calls) this.conclude(other);
  }

  fail(call: Call, result: ToolResult): void {
    call.settle(result);
    this.#noteFailure(call);
  }

  /** Under `fail_run` the first failure closes the batch; those of the same turn of the event loop are waited for. */
  #noteFailure(call: Call): void {
    if (this.#scope.onToolError !== "fail_run" || call.result === undefined) return;
    this.#failures.push(call);
    if (this.#closed) return;
    this.#closed = true;
    setImmediate(() => {
      const first = this.#failures.reduce((a, b) => (b.position < a.position ? b : a));
      const error = first.result?.error as LanekeeperError;
      this.#scope.stop.fire({ status: "failed", error, why: `a sibling failed: ${error.message}` });
    });
  }

  /** Goes on while the batch may; waits for the stop that is on its way when it may not. */
  async unlessClosed(): Promise<void> {
    const { stop } = this.#scope;
    if (stop.reason !== undefined) throw new Stopped();
    if (this.#closed) await stop.race(new Promise<never>(() => {}));
  }

  /** The run stops: what a call has brought is its result. */
  conclude(call: Call): void {
    if (call.brought === undefined || call.result !== undefined || this.#isMerging) return;
    // Nothing is lost, and nothing that was not checked is shown to a model.
    this.#merge(call, call.brought, hasOutputGates(call) ? UNCHECKED : undefined);
  }

  /** Whether anything may still go out. */
  get isOpen(): boolean {
    return !this.#closed && this.#scope.stop.reason === undefined;
  }

  /** The run stops (B2). */
  #stop(reason: StopReason): void {
    for (const call of this.#calls) {
      call.stop(reason);
      this.conclude(call);
    }
    const open = this.#calls.flatMap(({ attempt }) => (attempt?.close() === true ? attempt : []));
    for (const attempt of open) attempt.cancelNested(reason);
    for (const attempt of open) attempt.abort(reason.error);
  }
}

const NOBODY_ANSWERS = {
  approval: "it waits for approval, and nothing here can take the answer up",
  external: "its tool has no body, and nothing here can take an answer from outside up",
} as const;
const UNCHECKED = "completed, but the run stopped before its result was checked";
