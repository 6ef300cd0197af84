/**
 * A simulation's plan: everything that will happen in it, as plain data.
 *
 * What is left out is the simplest there is, so that any part of a plan may be taken away and a plan remains: that is how
 * a failing one is made small. Times are milliseconds of the fake clock.
 */
import type { DeadlineOptions } from "../batch/deadline-config.ts";
import type { ConcurrencyChanges, ConcurrencyOptions } from "../lanes/concurrency-config.ts";
import type { RunEventKind } from "../protocol/event.ts";

/** A tool of a simulation. Its bodies do what each {@link PlannedCall} says. */
export interface SimulatedTool {
  /** Default false. */
  readonly idempotent?: boolean;
  /** Default true; `by_args`: unless the arguments have `alone: true`. */
  readonly parallelSafe?: boolean | "by_args";
  readonly resource?: string;
  /** Attempts in all, 50 ms apart at first. Needs `idempotent: true`. */
  readonly attempts?: number;
  readonly abandonSeconds?: number;
  readonly requiresApproval?: boolean;
  /** Made by `agentTool` of this agent: its calls are the runs that they plan. */
  readonly agent?: string;
}

/** An agent of a simulation; `main` is the one that runs have when they name none. */
export interface SimulatedAgent {
  readonly concurrency?: ConcurrencyOptions;
  readonly onToolError?: "surface_to_model" | "fail_run";
  readonly maxTurns?: number;
}

/** When a run's signal aborts. */
export interface PlannedCancel {
  /** At this time. */
  readonly at?: number;
  /** Or when an event of this kind was told on the runner, of whatever run … */
  readonly on?: RunEventKind;
  /** … the first time, or the `nth` … */
  readonly nth?: number;
  /** … and so many microtasks after that: between a grant and its body's start there are a few. */
  readonly microtasks?: number;
}

/** What a gate does with a call. */
export interface PlannedGate {
  readonly at: "guardrail" | "approval" | "before_tool" | "after_tool" | "after";
  readonly takes?: number;
  /**
   * Default: it lets the call pass. `edit` rewrites arguments or the result, `answer` stands in the tool's place, and
   * `suspend` has the run resumed with `later`.
   */
  readonly answer?: "refuse" | "end_run" | "throw" | "edit" | "answer" | "suspend";
  readonly later?: "approve" | "deny" | "answer";
  /** How long until somebody resumes. */
  readonly laterAfter?: number;
}

/** A run below a call. */
export interface PlannedNested {
  readonly agent?: string;
  readonly turns?: readonly PlannedTurn[];
  /** Default: `ctx.run`. `runner`: found by async context; `detached`: a run of its own, for which nobody waits. */
  readonly by?: "runner" | "detached";
  /** The body does not wait for it. */
  readonly isLeft?: boolean;
}

/** One call that a model asks for, and what its body does. */
export interface PlannedCall {
  /** Default: one that does not exist. */
  readonly tool?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  /** How long the body works after the runs below it. Default: it ends at once. */
  readonly takes?: number;
  /** It does not listen to its signal. */
  readonly isDeaf?: boolean;
  /** How many attempts throw before one returns. */
  readonly fails?: number;
  readonly gates?: readonly PlannedGate[];
  readonly runs?: readonly PlannedNested[];
  /** The runs below it go on side by side. Default: one after the other. */
  readonly isTogether?: boolean;
}

/** One response of a model. A run whose turns are all done is told "done". */
export interface PlannedTurn {
  readonly takes?: number;
  /** Where it streams: how long each call takes to come. */
  readonly perCall?: number;
  readonly fault?: "throws" | "cut_off" | "breaks_off" | "begins_again";
  readonly calls?: readonly PlannedCall[];
}

/** An outermost run. */
export interface PlannedRun {
  /** When it starts. Default: 0. */
  readonly at?: number;
  readonly tenant?: string;
  readonly agent?: string;
  readonly turns?: readonly PlannedTurn[];
  readonly cancel?: PlannedCancel;
  /** Run by `runner.stream`; a number: left after so many events. */
  readonly stream?: boolean | number;
}

/** A whole simulated world: what a runner is made of, and what happens in it. */
export interface SimulationPlan {
  readonly concurrency?: ConcurrencyOptions;
  readonly deadlines?: DeadlineOptions;
  readonly dispatch?: "after_gates" | "eager";
  readonly maxDepth?: number;
  readonly tools?: Readonly<Record<string, SimulatedTool>>;
  readonly agents?: Readonly<Record<string, SimulatedAgent>>;
  readonly runs?: readonly PlannedRun[];
  /** `runner.configure` while it runs. */
  readonly changes?: readonly { readonly at?: number; readonly concurrency?: ConcurrencyChanges }[];
}

/** What a user fixes of simulated worlds; everything that is left out is made up anew for each. */
export interface SimulationWorld {
  /** The runner's bounds, kept as they are for the whole of it. */
  readonly concurrency?: ConcurrencyOptions;
  readonly tools?: Readonly<Record<string, SimulatedTool>>;
  readonly agents?: Readonly<Record<string, SimulatedAgent>>;
  readonly deadlines?: DeadlineOptions;
  readonly dispatch?: "after_gates" | "eager";
  readonly tenants?: readonly string[];
  /** How many outermost runs a world has at most. Default 6. */
  readonly runs?: number;
  /** How deep runs are nested at most. Default 4. */
  readonly depth?: number;
  /** Whether bodies, models and gates fail, bodies are deaf, runs are cancelled and bounds change. Default true. */
  readonly faults?: boolean;
}
