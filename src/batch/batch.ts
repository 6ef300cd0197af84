/**
 * All calls of one turn, from what the model asked to one result each, in call order (`Semantics 2.2`).
 *
 * parse → gates, one call at a time → phases → output gates and merge, one call at a time. The plan is `phases.ts`'s, one
 * dispatch `attempt.ts`'s, the verdicts `call.ts`'s.
 *
 * B1. Every call that is not set aside for somebody outside has its one result when `run` resolves, in every ending.
 * B2. A stop settles all calls first, then stops nested runs, then aborts signals, in one step.
 * B3. Nothing is dispatched after the batch was closed, also not what held its places already.
 * B4. The batch never waits for a deaf body, but for one before the next phase (`Semantics 5.1`).
 */
import { canonicalJson } from "../base/canonical-json.ts";
import type { Timer } from "../base/clock.ts";
import { describeThrown } from "../base/describe-thrown.ts";
import { InternalError, LanekeeperError } from "../base/errors.ts";
import type { LaneRequest } from "../lanes/lane-request.ts";
import type { Permit } from "../lanes/permit.ts";
import type { Turn } from "../lanes/turn.ts";
import type { GateContext, PendingCall } from "../protocol/gate.ts";
import type { ToolCall } from "../protocol/message.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import { toolOutput } from "../tools/result-text.ts";
import { backoffAfter } from "../tools/retry-policy.ts";
import type { InputCheck, RetryPolicy, Tool } from "../tools/tool.ts";
import { ToolFailedError, ToolInputError, type ToolOutputError } from "../tools/tool-errors.ts";
import { Attempt, type AttemptEnd } from "./attempt.ts";
import { DeadlineExceededError, GuardrailViolationError } from "./batch-errors.ts";
import type { Brought, Call } from "./call.ts";
import { Ceiling } from "./ceiling.ts";
import { type GateOutcome, type Gates, passGates } from "./gates.ts";
import { hasOutputGates, lost, passOutputGates, resultOf } from "./output-gates.ts";
import { parseBatch } from "./parse-batch.ts";
import { planPhases } from "./phases.ts";
import type { RunScope } from "./run-scope.ts";
import { Stopped, type StopReason } from "./stop.ts";
import { failed, neverDispatched } from "./verdict.ts";

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
}

/** Runs one batch. Never rejects: what stops the run is `scope.stop`'s to say. */
export async function runCalls(scope: RunScope, request: BatchRequest): Promise<BatchOutcome> {
  const { calls, transcript } = parseBatch(scope, request);
  const batch = new Batch(scope, request.turn, calls);
  await batch.run();
  const results = calls.flatMap(({ result }) => result ?? []);
  const pending = calls.flatMap((call) => (call.result === undefined ? (call.pending ?? []) : []));
  if (pending.length === 0) {
    const failures = results.filter(({ status }) => status !== "ok").length;
    const detail = { kind: "batch_resolved", turn: request.turn, calls: calls.length, failed: failures } as const;
    scope.events.emit(detail);
  }
  return { calls: transcript, results, pending };
}

class Batch {
  readonly #scope: RunScope;
  readonly #calls: readonly Call[];
  readonly #turn: Turn;
  readonly #gateContext: GateContext;
  readonly #failures: Call[] = [];
  /** Set by the first failure under `fail_run`: nothing goes out any more, and the stop is on its way. */
  #closed = false;
  /** Calls before this position have been through the output gates. */
  #resolved = 0;

  constructor(scope: RunScope, turn: number, calls: readonly Call[]) {
    this.#scope = scope;
    this.#calls = calls;
    this.#turn = scope.lanes.turn(scope.narrowing, { name: `${scope.runId}/${scope.path}/${turn}` });
    const { stop, tenant, runId, path, context } = scope;
    this.#gateContext = { signal: stop.signal, tenant, runId, path, context };
  }

  async run(): Promise<void> {
    const unlink = this.#scope.stop.onFire((reason) => this.#stop(reason));
    const ceiling = this.#startCeiling();
    try {
      for (const call of this.#calls) if (call.result?.status === "error") this.#noteFailure(call);
      await this.#passGates();
      const phases = planPhases(this.#calls);
      for (const [place, phase] of phases.entries()) {
        await this.#runPhase(phase);
        if (place < phases.length - 1) await this.#untilGone(phase);
      }
      // What a person answered behind the last phase.
      await this.#resolve(this.#calls.length - 1);
      await this.#unlessClosed();
    } catch (ended) {
      // A fault of ours must not leave a call without its result.
      if (!(ended instanceof Stopped)) stopFor(this.#scope, new InternalError("a batch threw", { cause: ended }));
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
      stopFor(this.#scope, new DeadlineExceededError("toolCallSeconds", seconds));
    });
    activity.onChange((state) => (state === "people" ? ceiling.pause() : ceiling.resume()));
    return ceiling;
  }

  async #passGates(): Promise<void> {
    const { approver, guardrails, hooks, stop, activity } = this.#scope;
    const gates: Gates = { approver, guardrails, hooks, context: this.#gateContext, stop, activity };
    for (const call of this.#calls) {
      await this.#unlessClosed();
      const { tool } = call;
      if (call.result !== undefined || tool === undefined) continue;
      const { id, name, position, of, input, key } = call;
      const gated = { id, name, position, of, tool, input, pendingId: key };
      const outcome = await passGates(gated, gates, (kind, detail) => call.tellOfGate(kind, detail));
      // Whoever was told of the last gate may have stopped the run: then the call has its verdict.
      if (stop.reason !== undefined) throw new Stopped();
      this.#afterGates(call, outcome);
    }
    await this.#unlessClosed();
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
        call.pending = outcome.pending;
        return;
      case "passed":
        call.input = outcome.input;
        call.parallelSafe = outcome.parallelSafe;
        call.state = "ready";
        call.tell({ kind: "tool_queued", detail: "queued" });
    }
  }

  #answer(call: Call, value: unknown): void {
    try {
      call.brought = { ...toolOutput(call.name, value, this.#scope.limits), delta: undefined };
    } catch (error) {
      call.settle(neverDispatched(call, (error as ToolOutputError).message, error as ToolOutputError));
      this.#noteFailure(call);
    }
  }

  async #runPhase(phase: readonly Call[]): Promise<void> {
    const { activity } = this.#scope;
    const running = phase.map((call) => this.#runCall(call));
    // From here each call says itself what it is doing.
    activity.end("busy");
    try {
      await Promise.all(running);
    } finally {
      activity.begin("busy");
    }
    await this.#unlessClosed();
    await this.#resolve((phase[phase.length - 1] as Call).position);
  }

  /** A phase is over when its bodies have ended or were abandoned (`Semantics 5.1`). */
  async #untilGone(phase: readonly Call[]): Promise<void> {
    await this.#scope.stop.race(Promise.all(phase.map(({ attempt }) => attempt?.gone())));
  }

  async #runCall(call: Call): Promise<void> {
    const { activity, stop } = this.#scope;
    activity.begin("busy");
    try {
      for (let number = 1; ; number++) {
        const backoffSeconds = await this.#attempt(call, number);
        if (backoffSeconds === undefined) return;
        // The next attempt starts only after this one has really ended, and backoff holds no permit (`Semantics 7.5`).
        await stop.race((call.attempt as Attempt).gone());
        if (backoffSeconds > 0) await this.#pause(backoffSeconds);
      }
    } catch (ended) {
      if (!(ended instanceof Stopped)) throw ended;
    } finally {
      activity.end("busy");
    }
  }

  /** One attempt of a call. Resolves with the seconds until the next one, or with nothing when there is none. */
  async #attempt(call: Call, number: number): Promise<number | undefined> {
    const { activity, stop } = this.#scope;
    const tool = call.tool as Tool;
    const checked = tool.validate(structuredClone(call.input));
    const check: InputCheck = checked instanceof Promise ? await stop.race(checked) : checked;
    if (!check.ok) {
      this.#fail(call, new ToolInputError(tool.name, check.problems), false);
      return undefined;
    }
    let over: (backoffSeconds: number | undefined) => void = () => {};
    const ended = new Promise<number | undefined>((resolve) => {
      over = resolve;
    });
    const attempt = new Attempt(call, number, (end) => over(this.#afterAttempt(call, number, end)));
    const permit = await this.#acquire(call, attempt);
    if (permit === undefined) return undefined;
    // Granted, and closed before its body could start: the places go back unused (`Semantics 4.10`). Asked here and not
    // where the permit came, since a sibling that starts in between may be told of, and whoever is told may stop the run.
    if (!this.#isOpen) {
      permit.release();
      await this.#unlessClosed();
    }
    attempt.start(tool, check.args, permit);
    activity.end("busy");
    try {
      return await stop.race(ended);
    } finally {
      activity.begin("busy");
    }
  }

  /** Waits for the call's lanes. Gives nothing when the lanes refused it, and then the call has its verdict. */
  async #acquire(call: Call, attempt: Attempt): Promise<Permit | undefined> {
    const { activity, lanes, stop } = this.#scope;
    activity.turn("busy", "lanes");
    try {
      return await lanes.acquire(this.#laneRequest(call), { signal: stop.signal, holder: attempt });
    } catch (threw) {
      if (stop.reason !== undefined) throw new Stopped();
      const error = LanekeeperError.is(threw) ? threw : new InternalError("lanes threw", { cause: threw });
      // A later attempt that the lanes refuse does not undo that an earlier one went out.
      if (call.attempt === undefined) call.settle(neverDispatched(call, error.message, error));
      else call.settle(failed(call, error));
      this.#noteFailure(call);
      return undefined;
    } finally {
      activity.turn("lanes", "busy");
    }
  }

  #laneRequest(call: Call): LaneRequest {
    const { tenant, runId } = this.#scope;
    const request = { tenant, turn: this.#turn, tool: call.name };
    const resource = call.tool?.resource;
    return {
      ...request,
      ...(resource === undefined ? {} : { resource }),
      // One key for everything under an outermost run (`Semantics 5.2`), one for equal input forms (`Semantics 5.3`).
      ...(call.parallelSafe ? {} : { exclusive: runId, arguments: canonicalJson(call.input) }),
    };
  }

  /** What follows an attempt that nothing stopped: decided at once. Gives the backoff when another attempt follows. */
  #afterAttempt(call: Call, number: number, end: AttemptEnd): number | undefined {
    if ("output" in end) {
      call.brought = { ...end.output, delta: end.delta };
      // Stopped by somebody who was told that the body has ended: it had brought something by then.
      if (this.#scope.stop.reason !== undefined) this.#conclude(call);
      return undefined;
    }
    const retry = call.tool?.retry;
    if (
      retry !== undefined &&
      this.#isOpen &&
      number < retry.attempts &&
      this.#isWorthRetrying(retry, end.error, number) &&
      this.#isOpen
    ) {
      call.ended = false;
      const backoffSeconds = backoffAfter(retry, number);
      const detail = `attempt ${number} of ${retry.attempts} failed: ${end.error.message}`;
      call.tell({ kind: "tool_retried", detail, attempt: number, backoffSeconds, error: end.error.toJSON() });
      return backoffSeconds;
    }
    this.#fail(call, end.error, end.mayHaveLanded);
    return undefined;
  }

  #isWorthRetrying({ when }: RetryPolicy, error: LanekeeperError, attempt: number): boolean {
    if (when === undefined) return true;
    try {
      return when(error, attempt) === true;
    } catch (threw) {
      this.#scope.report(threw);
      return false;
    }
  }

  async #pause(seconds: number): Promise<void> {
    const { clock, stop } = this.#scope;
    let timer: Timer | undefined;
    try {
      await stop.race(
        new Promise<void>((resolve) => {
          timer = clock.setTimer(seconds * 1000, resolve);
        }),
      );
    } finally {
      timer?.cancel();
    }
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

  #merge(call: Call, brought: Brought): void {
    const { delta } = brought;
    // A reducer may stop the run, which settles everything: merged once all the same.
    call.brought = { ...brought, delta: undefined };
    try {
      if (delta !== undefined) this.#scope.state.merge(delta);
    } catch (threw) {
      const message = `a reducer of the run's state failed: ${describeThrown(threw)}`;
      call.settle(lost(call, new ToolFailedError(message, { tool: call.name, cause: threw })));
      this.#noteFailure(call);
      return;
    }
    call.settle(resultOf(call, brought));
  }

  #fail(call: Call, error: LanekeeperError, mayHaveLanded: boolean): void {
    call.settle(failed(call, error, mayHaveLanded));
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
  async #unlessClosed(): Promise<void> {
    const { stop } = this.#scope;
    if (stop.reason !== undefined) throw new Stopped();
    if (this.#closed) await stop.race(new Promise<never>(() => {}));
  }

  /** The run stops: what a call has brought is its result. */
  #conclude(call: Call): void {
    if (call.brought === undefined || call.result !== undefined) return;
    if (!hasOutputGates(call)) this.#merge(call, call.brought);
    // Nothing is lost, and nothing that was not checked is shown to a model.
    else call.settle({ ...resultOf(call, call.brought), content: UNCHECKED });
  }

  /** Whether anything may still go out. */
  get #isOpen(): boolean {
    return !this.#closed && this.#scope.stop.reason === undefined;
  }

  /** The run stops (B2). */
  #stop(reason: StopReason): void {
    for (const call of this.#calls) {
      call.stop(reason);
      this.#conclude(call);
    }
    const open = this.#calls.flatMap(({ attempt }) => (attempt?.close() === true ? attempt : []));
    for (const attempt of open) attempt.cancelNested(reason);
    for (const attempt of open) attempt.abort(reason.error);
  }
}

function stopFor({ stop }: RunScope, error: LanekeeperError): void {
  stop.fire({ status: "failed", error, why: error.message });
}

const NOBODY_ANSWERS = {
  approval: "it waits for approval, and nothing here can take the answer up",
  external: "its tool has no body, and nothing here can take an answer from outside up",
} as const;
const UNCHECKED = "completed, but the run stopped before its result was checked";
