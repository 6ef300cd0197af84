import { copyJson } from "../base/copy-json.ts";
import { errorJson, type LanekeeperError, restoreError } from "../base/errors.ts";
import type { CallHistory } from "../journal/history.ts";
import type { RecordedResult } from "../journal/journal-entry.ts";
import type { PendingCall } from "../protocol/gate.ts";
import type { ToolCall } from "../protocol/message.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import type { Tool } from "../tools/tool.ts";
import type { Attempt } from "./attempt.ts";
import type { Section, UnplacedToolEvent, Without } from "./event-log.ts";
import type { RunScope } from "./run-scope.ts";
import { type Delta, recordDelta } from "./run-state.ts";
import type { Stop, StopReason } from "./stop.ts";
import { neverDispatched, stoppedInFlight } from "./verdict.ts";
import type { Whole } from "./whole.ts";

/** An event of a call before the call has signed it. */
export type CallNote = Without<UnplacedToolEvent, "callId" | "tool" | "tenant" | "turn" | "position">;

/** What a body or a person brought, before the output gates have seen it. */
export interface Brought {
  /** The whole, plain JSON. */
  readonly value: unknown;
  /** What the model would be shown. */
  readonly text: string;
  /** What its body wrote to the run's state. */
  readonly delta: Delta | undefined;
}

/** Where a call stands in its turn. */
export interface CallPlace {
  readonly turn: number;
  /** From 0, among `of` calls. */
  readonly position: number;
  readonly of: number;
}

/** So many notes of one body are kept in `run.events`; the rest is live only, or a chatty body would fill the memory. */
const MOST_NOTES = 1_000;

/**
 * One call of a batch, from what the model asked to its one verdict.
 *
 * C1. `settle` counts once; every verdict is told as exactly one of `tool_result`, `tool_error`, `tool_indeterminate`.
 * C2. Whether its side effect may exist follows from whether a body of it was dispatched, also before a resume, and from
 *     nothing else.
 */
export class Call {
  readonly scope: RunScope;
  /** As the model asked, in a form that vendors accept. */
  readonly asked: ToolCall;
  readonly id: string;
  readonly name: string;
  readonly turn: number;
  readonly position: number;
  /** How many calls its turn has, as far as the model has asked. */
  of: number;
  readonly section: Section;
  /** Undefined when no tool has the name. */
  readonly tool: Tool | undefined;
  /** The input form, as the gates left it. */
  input: Record<string, unknown>;
  /** The arguments as somebody who approved it wrote them: the transcript shows those (`Semantics 3.2`). */
  approved: Record<string, unknown> | undefined;
  parallelSafe = true;
  /** How phases see it. */
  state: "ready" | "suspended" | "answered" = "answered";
  /** What somebody outside must answer before it can go on; of an `agentTool` call, everything below it. */
  waitsFor: readonly PendingCall[] = [];
  /** Whether the model has asked for all that it will, in its turn and above. */
  whole: Whole | undefined;
  /** Of a call that was taken up while the model streamed: ends its waits for gates and lanes. */
  early: Stop | undefined;
  /** The attempt that was dispatched last. */
  attempt: Attempt | undefined;
  brought: Brought | undefined;
  /** Its tool has found out that what went out before a resume did not land. */
  isUndone = false;
  /** Its last attempt ended by itself: the verdict follows from that, and from no stop that comes meanwhile. */
  ended = false;
  #result: ToolResult | undefined;
  #nestedRuns = 0;
  #notes = 0;

  constructor(
    scope: RunScope,
    place: CallPlace,
    asked: ToolCall & { readonly args: Record<string, unknown> },
    tool: Tool | undefined,
    /** Where its events stand: by default, the next place in its run's. */
    section?: Section,
  ) {
    this.scope = scope;
    this.turn = place.turn;
    this.position = place.position;
    this.of = place.of;
    this.asked = asked;
    this.id = asked.id;
    this.name = asked.name;
    this.tool = tool;
    this.input = copyJson(asked.args);
    this.approved = this.known?.gated?.approved;
    this.section = scope.events.openSection(section);
  }

  /** What is known of it from before a resume. */
  get known(): CallHistory | undefined {
    return this.scope.history?.run(this.scope.path)?.call(this.turn, this.position);
  }

  /** Whether a body of it went out, in this process or before a resume. */
  get wasDispatched(): boolean {
    return this.attempt !== undefined || (this.known?.begun !== undefined && !this.isUndone);
  }

  /** Whether a failure that is not its body's own word leaves open what the body did (`Semantics 7.3`). */
  get mayHaveLanded(): boolean {
    return this.wasDispatched && !this.#isIdempotent;
  }

  /** As declared now, and when it was dispatched before a resume: the stricter counts (`Semantics 11.2`). */
  get #isIdempotent(): boolean {
    return this.tool?.idempotent === true && this.known?.begun?.idempotent !== false;
  }

  /** Its verdict, once it has one. */
  get result(): ToolResult | undefined {
    return this.#result;
  }

  /** What names it among all calls of all runs: the same in every attempt and after a resume (`Semantics 7.6`). */
  get key(): string {
    // A call of a turn that was asked for anew is another one, also at the same place.
    const withdrawals = this.scope.withdrawals.get(this.turn) ?? 0;
    const again = withdrawals === 0 ? "" : `~${withdrawals + 1}`;
    return `${this.scope.key}/${this.turn}.${this.position}${again}`;
  }

  /** The key of the run nested in it last. */
  get nestedKey(): string {
    return this.#nestedRuns === 1 ? this.key : `${this.key}:${this.#nestedRuns}`;
  }

  /** The path of the first run nested in it: `0/2.1`. */
  get firstNestedPath(): string {
    return `${this.scope.path}/${this.turn}.${this.position}`;
  }

  /** The path of the next run nested in it: `0/2.1`, and `0/2.1:2` for its second. */
  nextNestedPath(): string {
    this.#nestedRuns++;
    return this.#nestedRuns === 1 ? this.firstNestedPath : `${this.firstNestedPath}:${this.#nestedRuns}`;
  }

  tell(note: CallNote, liveOnly = false): void {
    const event = note as { -readonly [Key in keyof UnplacedToolEvent]: UnplacedToolEvent[Key] };
    event.callId = this.id;
    event.tool = this.name;
    event.tenant = this.scope.tenant;
    event.turn = this.turn;
    event.position = this.position;
    this.scope.events.emit(event as UnplacedToolEvent, this.section, liveOnly);
  }

  /** Tells what a gate said, unless a stop came between that and its being heard. */
  tellOfGate(kind: "gate_passed" | "gate_refused", detail: string): void {
    if (this.#result === undefined) this.tell({ kind, detail });
  }

  /** Tells what comes after the verdict: live only, since how much of it the run still sees is chance (`Semantics 2.3`). */
  tellAfterwards(note: CallNote): void {
    this.tell(note, true);
  }

  /** Tells progress or a log line of the body: the first thousand are kept. */
  tellOfBody(note: CallNote): void {
    this.attempt?.tellStart();
    // Whoever was told of the start may have stopped the run: then the body is not heard any more.
    if (this.attempt?.isOpen !== true) return;
    this.#notes++;
    this.tell(note, this.#notes > MOST_NOTES);
  }

  /** Takes what its gates left of its arguments. */
  leave({
    input,
    approved,
  }: {
    readonly input: Record<string, unknown>;
    readonly approved?: Record<string, unknown>;
  }): void {
    this.input = input;
    this.approved = approved ?? this.approved;
  }

  /** Where a journal finds it. */
  get place(): { path: string; turn: number; position: number } {
    return { path: this.scope.path, turn: this.turn, position: this.position };
  }

  /** The verdict that it had before a resume: told and recorded then. */
  restore({ error, ...recorded }: RecordedResult): void {
    const restored = error === undefined ? {} : { error: restoreError(error) };
    this.#result = { callId: this.id, name: this.name, ...recorded, ...restored };
  }

  /** Gives the call its verdict, unless it has one. `delta` is what it wrote to the run's state. */
  settle(result: ToolResult, delta?: Delta): boolean {
    if (this.#result !== undefined) return false;
    this.#result = result;
    this.attempt?.tellStart();
    this.scope.recorder?.append(() => ({
      kind: "call_settled",
      ...this.place,
      result: recordedOf(result),
      delta: delta === undefined ? [] : recordDelta(delta),
    }));
    if (result.status === "ok") {
      this.tell({ kind: "tool_result", detail: "completed", content: result.content });
      return true;
    }
    const { status, mayHaveLanded } = result;
    const error = errorJson(result.error as LanekeeperError);
    if (status === "indeterminate") {
      this.tell({ kind: "tool_indeterminate", detail: result.content, error, mayHaveLanded: true });
    } else this.tell({ kind: "tool_error", detail: result.content, status, error, mayHaveLanded });
    return true;
  }

  /** The run stops: a call that has brought nothing gets the verdict of `Semantics 8`. */
  stop(reason: StopReason): void {
    if (this.#result !== undefined || this.brought !== undefined || this.ended) return;
    this.settle(
      this.wasDispatched ? stoppedInFlight(this, this.#isIdempotent, reason) : neverDispatched(this, reason.why),
    );
  }
}

function recordedOf({ status, content, value, error, mayHaveLanded }: ToolResult): RecordedResult {
  return {
    status,
    content,
    ...(value === undefined ? {} : { value }),
    ...(error === undefined ? {} : { error: errorJson(error) }),
    mayHaveLanded,
  };
}
