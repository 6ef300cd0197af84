import type { Clock } from "../base/clock.ts";
import type { History } from "../journal/history.ts";
import type { ConcurrencyConfig } from "../lanes/concurrency-config.ts";
import type { Lanes } from "../lanes/lanes.ts";
import type { Approver, Guardrail, Hook } from "../protocol/gate.ts";
import type { Message } from "../protocol/message.ts";
import type { Usage } from "../protocol/usage.ts";
import type { AgentLike, NestedRunOptions, RunLike } from "../tools/tool-context.ts";
import type { ToolRegistry } from "../tools/tool-registry.ts";
import type { Activity } from "./activity.ts";
import type { Closing } from "./closing.ts";
import type { DeafBodies } from "./deaf-bodies.ts";
import type { EventLog, Section } from "./event-log.ts";
import type { Limits } from "./limits.ts";
import type { Recorder } from "./recorder.ts";
import type { RunState } from "./run-state.ts";
import type { Stop, StopReason } from "./stop.ts";
import type { Whole } from "./whole.ts";

/** What becomes of a run one of whose calls fails (`Semantics 7.1`). */
export type OnToolError = "surface_to_model" | "fail_run";

/** When calls go out: after all gates of their batch, or each as soon as it may (`Semantics 3.10`). */
export type Dispatch = "after_gates" | "eager";

/** What a batch knows of the run that it belongs to. */
export interface RunScope {
  /** The outermost run's. */
  readonly runId: string;
  readonly path: string;
  /** What the keys of its calls begin with: in every process the same, and no other run's. */
  readonly key: string;
  /** How often the calls of a turn were taken back, by turn. */
  readonly withdrawals: Map<number, number>;
  /** Whether the models above have asked for all that they will; absent in an outermost run. */
  readonly wholeAbove: Whole | undefined;
  /** How many runs stand above. */
  readonly depth: number;
  readonly tenant: string;
  /** The caller's own object. */
  readonly context: unknown;
  /** The tools that the run may call. */
  readonly tools: ToolRegistry;
  readonly lanes: Lanes;
  /** What the agent and those of the runs above narrow for what goes on below them, this run's own last: its turns are made with that. */
  readonly narrowings: readonly ConcurrencyConfig[];
  readonly onToolError: OnToolError;
  readonly dispatch: Dispatch;
  readonly limits: Limits;
  readonly toolCallSeconds: number | undefined;
  readonly clock: Clock;
  readonly stop: Stop;
  readonly closing: Closing;
  readonly activity: Activity;
  readonly events: EventLog;
  readonly state: RunState;
  /** What the run's model requests took so far, with those of runs nested in it. */
  readonly usage: Usage;
  readonly approver: Approver | undefined;
  readonly guardrails: readonly Guardrail[];
  readonly hooks: readonly Hook[];
  readonly deafBodies: DeafBodies;
  /** Settles with each run nested in a call of this one; the run settles after them. */
  readonly nestedRuns: Set<Promise<unknown>>;
  /** Whether a call may be set aside for somebody outside: somebody can take the answer up later. */
  readonly canSuspend: boolean;
  /** Writes down what happens; absent where nothing can be continued. */
  readonly recorder: Recorder | undefined;
  /** What is known from before a resume, of this run and those in it. */
  readonly history: History | undefined;
  /** Runs an agent in a body; absent where nobody can. */
  readonly startNested: StartNested | undefined;
  /** The runner whose run this is; nobody's, of a batch alone. */
  readonly owner: object | undefined;
  /** Takes what a listener or a reducer threw when nobody else can. Never throws. */
  readonly report: (error: unknown) => void;
}

/** Runs an agent below a call. Rejects with `ConfigurationError` for what could never work. */
export type StartNested = (
  call: NestingCall,
  agent: AgentLike,
  input: string | readonly Message[],
  options: NestedRunOptions,
  /** Whether a resume goes on with that run: the body itself is not run again. */
  isContinued: boolean,
) => Promise<RunLike>;

/** A call in flight, as a run that starts below it sees it. */
export interface NestingCall {
  /** The run that the call belongs to. */
  readonly scope: RunScope;
  /** The call's: what goes on in the nested run counts below it. */
  readonly activity: Activity;
  /** The call's stretch of events. */
  readonly section: Section;
  /** Takes the next path below the call. */
  nextNestedPath(): string;
  /** The key of the run that took the last one. */
  readonly nestedKey: string;
  /** Whether the models of the call and those above have asked for all that they will. */
  readonly whole: Whole | undefined;
  /** Runs code in the call's body: what it asks of the lanes works on the call's places. */
  enter<T>(code: () => T): T;
  /** Ties a run to the call: cancelled with the call's verdict. */
  attach(run: NestedRun): void;
}

/** A run below a call, as the call sees it. */
export interface NestedRun {
  cancel(reason: StopReason): void;
  /** Resolves once the run has settled. */
  readonly settled: Promise<unknown>;
}
