/**
 * One dispatch of a call: from the start of its body to whatever comes first, the body's end, its ceiling or a stop, and
 * what becomes of the body after that.
 *
 * A1. It is open from its start until the first of these, and what comes later changes nothing in the run.
 * A2. Every step is synchronous: the verdict stands, then nested runs stop, then the signal aborts, so that woken code
 *     finds the books in order. Only then does the permit go back, and lets others in.
 * A3. The permit goes back when the body has really ended, or when it is abandoned (`Semantics 4.8`).
 * A4. A body that ended by itself has its own outcome, also when reading it, or telling somebody of it, stops the run.
 */

import { linkAbort, type Unlink } from "../base/abort-link.ts";
import { inItsOwnContext } from "../base/async-context.ts";
import { describeThrown } from "../base/describe-thrown.ts";
import { CancelledError, ConfigurationError, LanekeeperError } from "../base/errors.ts";
import { isInstance } from "../base/is-instance.ts";
import { LaneStoreUnavailableError } from "../lanes/lane-errors.ts";
import type { Permit } from "../lanes/permit.ts";
import type { PendingCall } from "../protocol/gate.ts";
import type { Message } from "../protocol/message.ts";
import { type BodyOutcome, bodyOutcome } from "../tools/body-outcome.ts";
import { type ToolOutput, toolOutput } from "../tools/result-text.ts";
import { fromThrown } from "../tools/thrown.ts";
import type { Tool } from "../tools/tool.ts";
import type { AgentLike, NestedRunOptions, RunLike, ToolContext, ToolState } from "../tools/tool-context.ts";
import { type ToolOutputError, ToolTimedOutError } from "../tools/tool-errors.ts";
import { Activity } from "./activity.ts";
import type { Call } from "./call.ts";
import { callContext } from "./call-context.ts";
import { Ceiling } from "./ceiling.ts";
import { WaitsBelow } from "./continued-tools.ts";
import { abandonment, ceilingSeconds } from "./declared-seconds.ts";
import type { Section } from "./event-log.ts";
import { hasOutputGates } from "./output-gates.ts";
import { refusedInBody } from "./refused-in-body.ts";
import type { NestedRun, NestingCall, RunScope } from "./run-scope.ts";
import type { Delta } from "./run-state.ts";
import type { StopReason } from "./stop.ts";
import type { Whole } from "./whole.ts";

/** How an attempt ended when nothing stopped it. */
export type AttemptEnd =
  | { readonly output: ToolOutput; readonly delta: Delta }
  | { readonly error: LanekeeperError; readonly mayHaveLanded: boolean }
  /** The run below it waits for somebody outside, and so does the call. */
  | { readonly waitsFor: readonly PendingCall[] };

export class Attempt implements NestingCall {
  readonly call: Call;
  /** From 1. */
  readonly number: number;
  readonly activity: Activity;
  readonly #delta: Delta;
  readonly #state: ToolState;
  #context: ToolContext | undefined;
  /** Made when a body first looks at its signal. */
  #controller: AbortController | undefined;
  #abortedWith: LanekeeperError | undefined;
  readonly #nested = new Set<NestedRun>();
  readonly #onOver: (end: AttemptEnd) => void;
  #permit: Permit | undefined;
  #ceiling: Ceiling | undefined;
  #unlinkLost: Unlink | undefined;
  #startedAtMs = 0;
  #open = true;
  #watched = false;
  #isTold = false;

  /** `onOver` is told, at once, how it ended, unless a stop ended it. */
  constructor(call: Call, number: number, onOver: (end: AttemptEnd) => void) {
    this.call = call;
    this.number = number;
    this.#onOver = onOver;
    this.activity = new Activity(call.scope.activity);
    const { state, delta } = call.scope.state.view(() => this.#open);
    this.#state = state;
    this.#delta = delta;
  }

  /** What its body is given. */
  get context(): ToolContext {
    this.#context ??= callContext(this, this.#state);
    return this.#context;
  }

  /** Aborts when the call is over before its body has ended. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortedWith !== undefined) this.#controller.abort(this.#abortedWith);
    }
    return this.#controller.signal;
  }

  /** Whether what the body does still counts. */
  get isOpen(): boolean {
    return this.#open;
  }

  get scope(): RunScope {
    return this.call.scope;
  }

  get section(): Section {
    return this.call.section;
  }

  nextNestedPath(): string {
    // The run that is about to stand below it is told of after it.
    this.tellStart();
    return this.call.nextNestedPath();
  }

  get nestedKey(): string {
    return this.call.nestedKey;
  }

  get whole(): Whole | undefined {
    return this.call.whole;
  }

  // What the lanes tell of who holds a place; the body cannot write to it.
  get tenant(): string {
    return this.scope.tenant;
  }

  get runId(): string {
    return this.scope.runId;
  }

  get path(): string {
    return this.scope.path;
  }

  get callId(): string {
    return this.call.id;
  }

  /** Resolves when the places have gone back; also when they were abandoned. */
  gone(): Promise<void> {
    return new Promise((resolve) => (this.#permit === undefined ? resolve() : this.#permit.onGivenBack(resolve)));
  }

  /** Dispatches: the body starts in here, in the permit's places. */
  start(tool: Tool, args: unknown, permit: Permit): void {
    const { call, scope } = this;
    this.#permit = permit;
    this.#startedAtMs = scope.clock.monotonic();
    call.attempt = this;
    this.activity.begin("busy");
    const seconds = ceilingSeconds(call);
    if (seconds !== undefined) {
      const ceiling = new Ceiling(scope.clock, seconds, () => this.#cutOff(new ToolTimedOutError(call.name, seconds)));
      this.#ceiling = ceiling;
      // While everything below it waits, for lanes or for people, its time stands still (`Semantics 3.8`).
      this.activity.onChange((state) => (state === "lanes" || state === "people" ? ceiling.pause() : ceiling.resume()));
    }
    void permit
      .enter(() => inItsOwnContext(() => bodyOutcome(() => tool.run?.(args, this.context))))
      .then((outcome) => this.#bodyEnded(outcome));
    this.tellStart();
    const { lost } = permit;
    if (lost !== undefined && this.#open) {
      this.#unlinkLost = linkAbort(lost, () => this.#cutOff(lostPlaces(lost)));
    }
  }

  /**
   * Tells of the dispatch, once: when the body's first step is done, or before anything else that comes of it. So whoever
   * is told and stops the run stops a call that is in flight (`Semantics 4.10`).
   */
  tellStart(): void {
    const permit = this.#permit;
    if (this.#isTold || permit === undefined) return;
    this.#isTold = true;
    this.call.tell({
      kind: "tool_dispatched",
      detail: this.number === 1 ? "dispatched" : `dispatched again, attempt ${this.number}`,
      attempt: this.number,
      waitedSeconds: permit.waited,
    });
  }

  /** Runs an agent below the call: `ctx.run`. */
  startNested(
    agent: AgentLike,
    input: string | readonly Message[],
    options: NestedRunOptions,
    isContinued = false,
  ): Promise<RunLike> {
    if (!this.#open) {
      return refusedInBody(new ConfigurationError("ctx.run: expected a call in flight, got one that is over"));
    }
    const { startNested } = this.scope;
    if (startNested === undefined) {
      return refusedInBody(new ConfigurationError("ctx.run: expected a runner; give one to runBatch as `runner`"));
    }
    return startNested(this, agent, input, options, isContinued);
  }

  enter<T>(code: () => T): T {
    return this.#permit === undefined ? code() : this.#permit.reenter(code);
  }

  attach(run: NestedRun): void {
    this.#nested.add(run);
    // The body with a run below it counts as waiting, awaited or not (`Semantics 4.6`).
    if (this.#nested.size === 1 && this.#open) this.activity.end("busy");
    this.scope.nestedRuns.add(run.settled);
    void run.settled.then(() => {
      this.#nested.delete(run);
      this.scope.nestedRuns.delete(run.settled);
      if (this.#nested.size === 0 && this.#open) this.activity.begin("busy");
    });
    // Its own start may have brought the verdict about.
    if (!this.#open) run.cancel(callerSettled());
  }

  /** It is over, and what the body does no longer counts. False when that was so before. */
  close(): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#ceiling?.cancel();
    this.#unlinkLost?.();
    this.activity.onChange(undefined);
    if (this.#nested.size === 0) this.activity.end("busy");
    return true;
  }

  /** It never starts: it was made for its context alone. */
  dismiss(): void {
    this.#open = false;
  }

  cancelNested(reason: StopReason): void {
    for (const run of [...this.#nested]) run.cancel(reason);
  }

  /** Tells the body to stop, and watches it from now on. */
  abort(error: LanekeeperError): void {
    this.#abortedWith = error;
    this.#controller?.abort(error);
    this.#watch();
  }

  /** Ends the call in the middle of its body: nobody knows how far that came. */
  #cutOff(error: LanekeeperError): void {
    if (!this.close()) return;
    this.call.ended = true;
    this.#onOver({ error, mayHaveLanded: this.call.tool?.idempotent !== true });
    this.#cancelWithCall();
    this.abort(error);
  }

  #bodyEnded(outcome: BodyOutcome): void {
    const { call, scope } = this;
    const seconds = (scope.clock.monotonic() - this.#startedAtMs) / 1000;
    const threw = "threw" in outcome;
    if (this.close()) {
      call.ended = true;
      const end = this.#endOf(outcome);
      if (!("waitsFor" in end)) {
        call.tell({ kind: "tool_completed", detail: threw ? "threw" : "returned", attempt: this.number, seconds });
      }
      this.#onOver(end);
      this.#cancelWithCall();
    } else {
      const detail = threw ? "threw late" : "returned late";
      call.tellAfterwards({ kind: "tool_late_result", detail, seconds, ...this.#lateContent(outcome) });
    }
    this.#permit?.end();
    this.#watch();
  }

  #endOf(outcome: BodyOutcome): AttemptEnd {
    const { call, scope } = this;
    if ("threw" in outcome) {
      if (isInstance(outcome.threw, WaitsBelow)) return { waitsFor: outcome.threw.pending };
      const error = fromThrown(call.name, outcome.threw);
      return { error, mayHaveLanded: error.mayHaveLanded };
    }
    try {
      return { output: toolOutput(call.name, outcome.returned, scope.limits), delta: this.#delta };
    } catch (error) {
      // It returned, so that what it did is done; only its answer is lost.
      return { error: error as ToolOutputError, mayHaveLanded: call.tool?.idempotent !== true };
    }
  }

  #lateContent(outcome: BodyOutcome): { outcome: "returned" | "threw"; content: string } {
    if ("threw" in outcome) return { outcome: "threw", content: describeThrown(outcome.threw) };
    // No output gate will see it, and one might have withheld it.
    if (hasOutputGates(this.call)) return { outcome: "returned", content: "withheld: no output gate has checked it" };
    try {
      return { outcome: "returned", content: toolOutput(this.call.name, outcome.returned, this.scope.limits).text };
    } catch (error) {
      return { outcome: "returned", content: (error as Error).message };
    }
  }

  #cancelWithCall(): void {
    if (this.#nested.size > 0) this.cancelNested(callerSettled());
  }

  /** Watches a body that outlives its verdict (`Semantics 4.8`); one that has gone is not watched. */
  #watch(): void {
    const permit = this.#permit;
    if (permit === undefined || permit.givenBack || this.#watched) return;
    this.#watched = true;
    const { call, scope } = this;
    const { seconds, abandon } = abandonment(call);
    scope.deafBodies.watch({
      places: permit,
      seconds,
      abandon,
      onDue: () => {
        const since = `${seconds} s after its verdict`;
        if (abandon) {
          call.tellAfterwards({ kind: "tool_abandoned", detail: `abandoned: still running ${since}`, seconds });
        } else
          call.tellAfterwards({
            kind: "tool_overdue",
            detail: `overdue: still running ${since}, and its lanes wait`,
            seconds,
          });
      },
    });
  }
}

/** A store of shared lanes can no longer vouch for the call's places: others may work on them (`Semantics 11.4`). */
function lostPlaces({ reason }: AbortSignal): LanekeeperError {
  if (LanekeeperError.is(reason)) return reason;
  const message = "expected the store to keep the call's places, got word that it lost them";
  return new LaneStoreUnavailableError(message, { cause: reason });
}

function callerSettled(): StopReason {
  const error = new CancelledError("the call in which this run was started has had its verdict");
  return { status: "cancelled", error, why: "its caller has had its verdict" };
}
