import type { Clock } from "../base/clock.ts";
import type { LanekeeperError } from "../base/errors.ts";
import type { RunEvent } from "../protocol/event.ts";
import type { PendingCall } from "../protocol/gate.ts";
import type { Message } from "../protocol/message.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import type { Usage } from "../protocol/usage.ts";

/**
 * What a body is given beside its arguments: who asks, how to stop, and what it may do to its run.
 *
 * Inert once the call has its verdict (`Semantics 2.8`): late progress, state writes and logs are ignored, `run` rejects.
 */
export interface ToolContext<Context = unknown> {
  /** Aborts when the call is to stop: its ceiling, the run's end, a sibling's failure under `fail_run`. */
  readonly signal: AbortSignal;
  /** On whose behalf the run works; `default` when the run named none. */
  readonly tenant: string;
  /** The id of the outermost run. */
  readonly runId: string;
  /** The place of the run that asked: `"0"`, or for one nested in turn 2, position 1: `"0/2.1"`. */
  readonly path: string;
  /** How many runs stand above the one that asked; 0 in the outermost. */
  readonly depth: number;
  /** The call's id in the transcript. */
  readonly callId: string;
  /** The tool's name. */
  readonly tool: string;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
  /** The same for this call in every attempt and after a resume (`Semantics 7.6`); send it along with side effects. */
  readonly idempotencyKey: string;
  /** The caller's own context object, as given to the run. */
  readonly context: Context;
  /** The run's state as of the phase's start, with this call's own writes. */
  readonly state: ToolState;
  /** The runtime's clock; a body that reads time here can be tested without waiting. */
  readonly clock: Clock;
  /**
   * Tells how far the body is: a fraction of the whole from 0 to 1, and a note. For people; models never see it. What is
   * no fraction is told to `onError`: it is not worth failing a call half way.
   */
  progress(fraction: number, note?: string): void;
  /**
   * Runs another agent in the places this call stands in (`Semantics 4.6`).
   *
   * Resolves in every ending of the nested run; read `status`. Keeps this call's tenant and stops with its signal.
   *
   * @throws `CONFIGURATION` (as a rejection) for what could never work, and after the call's verdict.
   */
  run<Output = unknown>(
    agent: AgentLike<Output>,
    input: string | readonly Message[],
    options?: NestedRunOptions,
  ): Promise<RunLike<Output>>;
  /** Writes a line for people, tied to this call. Models never see it. */
  log(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** A run's state as one call sees it (`Semantics 6`): plain JSON, copied in and out. */
export interface ToolState {
  /** A copy of what stands under `key`; `undefined` when nothing does. */
  get(key: string): unknown;
  /** Puts a plain-JSON copy of `value` under `key`; siblings see it from the next phase on. */
  set(key: string, value: unknown): void;
  /** Whether something stands under `key`. */
  has(key: string): boolean;
  /** Takes `key` away; answers whether something stood there. */
  delete(key: string): boolean;
  /** A copy of the whole state. */
  toJSON(): Record<string, unknown>;
}

/** An agent, as far as a body needs to know it. `Output` is carried in the type alone. */
export interface AgentLike<Output = unknown> {
  /** The agent's name. */
  readonly name: string;
  /** Never there: it only carries the type of what the agent answers. */
  readonly "~output"?: Output;
}

/** What may be said about a nested run. */
export interface NestedRunOptions {
  /** Stops the nested run alone; it stops with its caller in any case. */
  readonly signal?: AbortSignal | undefined;
  /** The nested run's context object; its caller's when left out. */
  readonly context?: unknown;
  /** The nested run's own state at its start; the agent's declared one when left out. */
  readonly state?: Readonly<Record<string, unknown>> | undefined;
  /** May only repeat the caller's tenant. */
  readonly tenant?: string | undefined;
}

interface SettledRun {
  readonly id: string;
  readonly messages: Message[];
  readonly events: readonly RunEvent[];
  readonly results: ToolResult[];
  readonly usage: Usage;
  readonly state: Readonly<Record<string, unknown>>;
}

/** What a nested run resolves to. */
export type RunLike<Output = unknown> =
  | (SettledRun & { readonly status: "completed"; readonly output: Output })
  | (SettledRun & { readonly status: "failed" | "cancelled"; readonly error: LanekeeperError })
  | (SettledRun & { readonly status: "suspended"; readonly pending: PendingCall[] });
