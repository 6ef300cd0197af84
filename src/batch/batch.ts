/**
 * All calls of one turn, from what the model asked to one result each, in call order (`Semantics 2.2`).
 *
 * parse → gates, one call at a time → phases → output gates and merge, one call at a time. Which phase a call is in says
 * `phases.ts`; the way to a dispatch is `dispatcher.ts`'s, one dispatch `attempt.ts`'s, the verdicts `call.ts`'s.
 *
 * One loop takes calls through their gates, one sends them out; by default the second begins when the first has ended
 * (`Semantics 3.10`).
 *
 * B1. Every call that is not set aside for somebody outside has its one result when `run` resolves, in every ending.
 * B2. A stop settles all calls first, then stops nested runs, then aborts signals, in one step.
 * B3. Nothing is dispatched after the batch was closed, also not what held its places already.
 * B4. Before the response is whole only idempotent, parallel-safe calls go out, and nobody is asked for a decision.
 * B5. The batch never waits for a deaf body, but for one before the next phase (`Semantics 5.1`).
 */
import { describeThrown } from "../base/describe-thrown.ts";
import { InternalError, type LanekeeperError } from "../base/errors.ts";
import { isInstance } from "../base/is-instance.ts";
import type { Turn } from "../lanes/turn.ts";
import type { GateContext } from "../protocol/gate.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import { toolOutput } from "../tools/result-text.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolFailedError, type ToolOutputError } from "../tools/tool-errors.ts";
import { DeadlineExceededError, GuardrailViolationError } from "./batch-errors.ts";
import type { Brought, Call } from "./call.ts";
import { Ceiling } from "./ceiling.ts";
import { type CallsBatch, Dispatcher } from "./dispatcher.ts";
import { Feed } from "./feed.ts";
import { gateCall } from "./gate-call.ts";
import type { GateOutcome, Gates } from "./gates.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import { hasOutputGates, lost, passOutputGates, resultOf } from "./output-gates.ts";
import { stepOf } from "./phases.ts";
import type { RunScope } from "./run-scope.ts";
import { failure, Stop, Stopped, type StopReason } from "./stop.ts";
import { neverDispatched } from "./verdict.ts";
import { Whole } from "./whole.ts";

export class Batch implements CallsBatch {
  readonly #scope: RunScope;
  readonly #calls: Call[] = [];
  readonly turn: Turn;
  readonly #dispatcher: Dispatcher;
  readonly #gateContext: GateContext;
  /** Gates are asked one at a time, of this batch and of one that it stands in for. */
  readonly #gate: OneAtATime;
  /** On their way to their gates, and from there to their phases. */
  readonly #asked: Feed<Call> = new Feed();
  readonly #gated: Feed<Call> = new Feed();
  readonly #failures: Call[] = [];
  /** The model's response came out otherwise: the batch never was. */
  #isWithdrawn = false;
  /** While a reducer runs. */
  #isMerging = false;
  /** Calls before this position have been through the output gates. */
  #resolved = 0;
  readonly #whole: Whole;
  /** What gates said against calls of a response that may yet come out otherwise. */
  readonly #undecided: { readonly call: Call; readonly outcome: GateOutcome }[] = [];
  #working: Promise<unknown> | undefined;

  /** `gate` is that of a batch that was withdrawn. */
  constructor(scope: RunScope, turn: number, gate: OneAtATime = new OneAtATime()) {
    this.#scope = scope;
    this.#gate = gate;
    this.#whole = new Whole(scope.wholeAbove);
    this.turn = scope.lanes.turn(scope.narrowings.at(-1), { name: `${scope.runId}/${scope.path}/${turn}` });
    const { stop, tenant, runId, path, context } = scope;
    this.#dispatcher = new Dispatcher(scope, this);
    this.#gateContext = { signal: stop.signal, tenant, runId, path, context };
  }

  get calls(): readonly Call[] {
    return this.#calls;
  }

  /** The results there are, in call order. */
  results(): ToolResult[] {
    return this.#calls.flatMap(({ result }) => result ?? []);
  }

  /** Takes the next call up while the model goes on to stream others. */
  take(call: Call): void {
    call.early = new Stop();
    this.#push(call);
    this.#working ??= this.#work();
  }

  /**
   * Goes on with all calls of the whole response, of which those taken up before are the first, until none has anything
   * more to do. With `refusal` none of them goes out that has not.
   */
  async finish(calls: readonly Call[], refusal?: string): Promise<void> {
    const { activity } = this.#scope;
    const ceiling = this.#startCeiling();
    const early = [...this.#calls];
    for (const call of early) {
      call.of = calls.length;
      if (refusal !== undefined && !call.wasDispatched) this.#takeBack(call, refusal);
    }
    for (const { call, outcome } of this.#undecided) if (call.result === undefined) this.#afterGates(call, outcome);
    for (const call of calls.slice(early.length)) {
      this.#push(call);
      // What is wrong with a call itself is a failure like any other.
      if (call.result?.status === "error" || call.result?.status === "indeterminate") this.#noteFailure(call);
    }
    this.#whole.complete();
    this.#asked.end();
    this.#working ??= this.#work();
    // From here the batch says itself what it does.
    activity.end("busy");
    await this.#working;
    activity.begin("busy");
    ceiling?.cancel();
    activity.onChange(undefined);
  }

  /** Takes everything back, unless something has gone out; says whether it could. */
  withdraw(): boolean {
    if (this.#calls.some(({ wasDispatched }) => wasDispatched)) return false;
    this.#isWithdrawn = true;
    for (const call of this.#calls) this.#takeBack(call, "the model's response came out otherwise");
    this.#whole.complete();
    this.#asked.end();
    this.#gated.end();
    return true;
  }

  /** A batch that stands in for this one, which was withdrawn. */
  another(turn: number): Batch {
    return new Batch(this.#scope, turn, this.#gate);
  }

  #push(call: Call): void {
    call.whole = this.#whole;
    this.#calls.push(call);
    this.#asked.push(call);
    // Whoever heard that it was asked for may have stopped the run, and then its stop has been and gone.
    const { reason } = this.#scope.stop;
    if (this.#working !== undefined && reason !== undefined) call.stop(reason);
  }

  /** Answers an early call that has not gone out, and ends its waits for gates and lanes. */
  #takeBack(call: Call, why: string): void {
    const result = neverDispatched(call, why);
    call.settle(result);
    call.early?.fire(failure(result.error as LanekeeperError));
  }

  async #work(): Promise<void> {
    const unlink = this.#scope.stop.onFire((reason) => this.#stop(reason));
    const gates = (): Promise<void> => this.#passGates();
    const phases = (): Promise<void> => this.#runPhases();
    if (this.#scope.dispatch === "eager") await Promise.all([this.#goOn(gates), this.#goOn(phases)]);
    else await this.#goOn(() => gates().then(phases));
    unlink();
  }

  /** Never rejects. Busy all the time but where it says otherwise. */
  async #goOn(loop: () => Promise<void>): Promise<void> {
    const { activity, stop } = this.#scope;
    activity.begin("busy");
    try {
      await loop();
    } catch (ended) {
      // A fault of ours must not leave a call without its result.
      if (!isInstance(ended, Stopped)) stop.fire(failure(new InternalError("a batch threw", { cause: ended })));
    } finally {
      activity.end("busy");
    }
  }

  /** Waits for what others do. */
  async #idly<T>(others: Promise<T>): Promise<T> {
    const { activity, stop } = this.#scope;
    activity.end("busy");
    try {
      return await stop.race(others);
    } finally {
      activity.begin("busy");
    }
  }

  async #oneAtATime<T>(ask: () => Promise<T>): Promise<T> {
    const free = this.#gate.enter();
    if (free !== undefined) await this.#idly(free);
    try {
      return await ask();
    } finally {
      this.#gate.leave();
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
    const endRun = (error: LanekeeperError): void => void stop.fire(failure(error));
    const gates: Gates = { approver, guardrails, hooks, context: this.#gateContext, stop, endRun, activity };
    for (;;) {
      const more = this.#asked.more();
      if (more !== undefined) await this.#idly(more);
      const call = this.#asked.take();
      await this.unlessClosed();
      if (call === undefined) break;
      const { tool } = call;
      if (call.result === undefined && tool !== undefined) {
        // Nobody is asked about a response that may yet be cut off.
        if (!this.#whole.isAll && mayWaitForSomebody(tool)) {
          await this.#idly(this.#whole.untilAll());
          await this.unlessClosed();
        }
        const outcome = await this.#passGate(call, tool, gates);
        // Whoever was told of the last gate may have stopped the run: then the call has its verdict.
        if (stop.reason !== undefined) throw new Stopped();
        if (outcome !== undefined && call.result === undefined) {
          const isAgainst = outcome.kind === "failed" || outcome.kind === "refused";
          if (isAgainst && !this.#whole.isHere) this.#undecided.push({ call, outcome });
          else this.#afterGates(call, outcome);
        }
      }
      this.#gated.push(call);
    }
    this.#gated.end();
  }

  /** Nothing for a call that stands behind its gates already, or that got its verdict meanwhile. */
  async #passGate(call: Call, tool: Tool, gates: Gates): Promise<GateOutcome | undefined> {
    const { early = gates.stop } = call;
    try {
      return await this.#oneAtATime(async () => {
        if (call.result === undefined) return gateCall(call, tool, { ...gates, stop: early });
        return undefined;
      });
    } catch (ended) {
      // A call that was taken back ends its own way through the gates alone.
      if (isInstance(ended, Stopped) && this.#scope.stop.reason === undefined && call.result !== undefined)
        return undefined;
      throw ended;
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
        call.leave(outcome);
        this.#answer(call, outcome.value);
        return;
      case "suspended":
        if (!this.#scope.canSuspend) {
          call.settle(neverDispatched(call, NOBODY_ANSWERS[outcome.pending.reason]));
          return;
        }
        call.leave(outcome);
        call.parallelSafe = outcome.parallelSafe;
        call.state = "suspended";
        call.waitsFor = [outcome.pending];
        this.#record(call, outcome);
        return;
      case "passed":
        call.leave(outcome);
        call.parallelSafe = outcome.parallelSafe;
        call.state = "ready";
        this.#record(call, outcome);
        call.tell({ kind: "tool_queued", detail: "queued" });
    }
  }

  #record(call: Call, outcome: GateOutcome & { kind: "passed" | "suspended" }): void {
    this.#scope.recorder?.append(() => {
      const { kind: _, ...gated } = outcome;
      return { kind: "call_gated", ...call.place, ...gated };
    });
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

  /** Sends calls out in their phases, as they come from their gates, and merges what each phase brought. */
  async #runPhases(): Promise<void> {
    let phase: Call[] = [];
    let running: Promise<void>[] = [];
    let isHeldBack = false;
    for (;;) {
      const more = this.#gated.more();
      if (more !== undefined) await this.#idly(more);
      const call = this.#gated.take();
      const step = call === undefined ? "holds_back" : stepOf(call, phase);
      // What comes behind a call that holds back only goes through its gates.
      if (call !== undefined && (step === "passes" || isHeldBack)) continue;
      if (step !== "joins" && phase.length > 0 && !isHeldBack) {
        await this.#endPhase(phase, running);
        // A run below it waits for somebody: what the model asked for after it is held back (`Semantics 3.5`).
        isHeldBack = phase.some(({ state, parallelSafe }) => state === "suspended" && !parallelSafe);
      }
      if (call === undefined) break;
      if (step === "holds_back") isHeldBack = true;
      if (isHeldBack) continue;
      if (step === "begins") {
        await this.#untilGone(phase);
        phase = [];
        running = [];
      }
      phase.push(call);
      running.push(this.#send(call));
    }
    // What a person answered behind the last phase.
    await this.#resolve(this.#calls.length - 1);
    await this.unlessClosed();
  }

  /** Before the response is whole only what may be called again goes out (`Semantics 3.10`). */
  #send(call: Call): Promise<void> {
    const isHeld = !this.#whole.isAll && !(call.tool?.idempotent === true && call.parallelSafe);
    const sent = isHeld ? this.#sendOnceWhole(call) : this.#dispatcher.run(call);
    // It is heard where its phase ends.
    sent.catch(() => {});
    return sent;
  }

  async #sendOnceWhole(call: Call): Promise<void> {
    await this.#scope.stop.until(this.#whole.untilAll());
    if (this.isOpen) await this.#dispatcher.run(call);
  }

  async #endPhase(phase: readonly Call[], running: readonly Promise<void>[]): Promise<void> {
    // Each call says itself what it is doing.
    await this.#idly(Promise.all(running));
    await this.unlessClosed();
    await this.#resolve((phase[phase.length - 1] as Call).position);
  }

  /** A phase is over when its bodies have ended or were abandoned (`Semantics 5.1`). */
  async #untilGone(phase: readonly Call[]): Promise<void> {
    if (phase.length > 0) await this.#scope.stop.race(Promise.all(phase.map(({ attempt }) => attempt?.gone())));
  }

  /** Takes what calls brought through the output gates and merges it, one at a time, in call order (`Semantics 3.4`, `6`). */
  async #resolve(lastPosition: number): Promise<void> {
    for (; this.#resolved <= lastPosition; this.#resolved++) {
      const call = this.#calls[this.#resolved] as Call;
      if (call.brought === undefined || call.result !== undefined) continue;
      if (hasOutputGates(call)) {
        const { brought } = call;
        const checked = await this.#oneAtATime(() => passOutputGates(call, brought, this.#gateContext));
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
    const wasStopped = this.#scope.stop.reason !== undefined;
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
    if (!wasStopped && this.#scope.stop.reason !== undefined) for (const other of this.#calls) this.conclude(other);
  }

  fail(call: Call, result: ToolResult): void {
    call.settle(result);
    this.#noteFailure(call);
  }

  /** Under `fail_run` the first failure closes the batch; those of the same turn of the event loop are waited for. */
  #noteFailure(call: Call): void {
    if (this.#scope.onToolError !== "fail_run" || call.result === undefined) return;
    this.#failures.push(call);
    if (!this.#scope.closing.close()) return;
    setImmediate(() => {
      const first = this.#failures.reduce((a, b) => (b.position < a.position ? b : a));
      const error = first.result?.error as LanekeeperError;
      this.#scope.stop.fire({ status: "failed", error, why: `a sibling failed: ${error.message}` });
    });
  }

  /** Goes on while the batch may; waits for the stop that is on its way when it may not. */
  async unlessClosed(): Promise<void> {
    const { stop } = this.#scope;
    if (stop.reason !== undefined || this.#isWithdrawn) throw new Stopped();
    if (this.#scope.closing.isClosed) await stop.race(new Promise<never>(() => {}));
  }

  /** The run stops: what a call has brought is its result. */
  conclude(call: Call): void {
    if (call.brought === undefined || call.result !== undefined || this.#isMerging) return;
    // Nothing is lost, and nothing that was not checked is shown to a model.
    this.#merge(call, call.brought, hasOutputGates(call) ? UNCHECKED : undefined);
  }

  /** Whether anything may still go out. */
  get isOpen(): boolean {
    return !this.#scope.closing.isClosed && !this.#isWithdrawn && this.#scope.stop.reason === undefined;
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
    for (const { early } of this.#calls) early?.fire(reason);
  }
}

/** Whether somebody may have to be asked about its calls. */
function mayWaitForSomebody({ requiresApproval, run }: Tool): boolean {
  return requiresApproval !== false || run === undefined;
}

const NOBODY_ANSWERS = {
  approval: "it waits for approval, and nothing here can take the answer up",
  external: "its tool has no body, and nothing here can take an answer from outside up",
} as const;
const UNCHECKED = "completed, but the run stopped before its result was checked";
