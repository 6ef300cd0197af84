import type { ToolResult } from "./tool-result.ts";

/** A call that waits for somebody outside the run. */
export interface PendingCall {
  /** Keys the decision; distinct for every call, also of one tool or nested. */
  id: string;
  runId: string;
  path: string;
  callId: string;
  tool: string;
  tenant: string;
  /** The input form: JSON as the model sent it, after the gates before. */
  args: unknown;
  reason: "approval" | "external";
  /** 0-based place in its batch. */
  position: number;
  /** How many calls the batch has. */
  of: number;
}

/**
 * What somebody says to a {@link PendingCall}. A `result` answers in the tool's place: any value, `false` and `""` too.
 * `args` beside an approval are what runs instead, once they are validated, and what the transcript shows.
 */
export type Decision =
  | { approve: true; args?: unknown }
  | { approve: false; reason?: string }
  | { result: unknown }
  | { suspend: true };

/** Asks a person, one call at a time, in call order (`Semantics 3.1`). The signal aborts when the run stops. */
export type Approver = (request: PendingCall, options: { signal: AbortSignal }) => Decision | Promise<Decision>;

/** A call as gates see it: a copy in input form. */
export interface GateCall {
  id: string;
  name: string;
  args: unknown;
  /** 0-based place in its batch. */
  position: number;
}

/** On whose behalf a gate is asked. */
export interface GateContext {
  signal: AbortSignal;
  tenant: string;
  runId: string;
  path: string;
  /** The caller's own context object, as given to the run. */
  context: unknown;
}

/** What a guardrail answers when it objects: refuse the call, or end the run. */
export type Refusal = { refuse: string } | { endRun: string };

// biome-ignore lint/suspicious/noConfusingVoidType: a gate that has no objection returns nothing.
type OrNothing<T> = T | void | undefined;

/** A check before a call goes out and after its result came in. What it throws counts against the call. */
export interface Guardrail {
  name: string;
  before?(call: GateCall, ctx: GateContext): OrNothing<Refusal> | Promise<OrNothing<Refusal>>;
  after?(call: GateCall, result: ToolResult, ctx: GateContext): OrNothing<Refusal> | Promise<OrNothing<Refusal>>;
}

/**
 * Code of the developer around each call: may rewrite arguments or refuse before, and rewrite the result after.
 *
 * Arguments that a hook wrote go to the body and are not shown to the model: they may hold what is none of its business.
 */
export interface Hook {
  name: string;
  beforeTool?(
    call: GateCall,
    ctx: GateContext,
  ): OrNothing<{ args: unknown } | { refuse: string }> | Promise<OrNothing<{ args: unknown } | { refuse: string }>>;
  afterTool?(
    call: GateCall,
    result: ToolResult,
    ctx: GateContext,
  ): OrNothing<{ result: unknown }> | Promise<OrNothing<{ result: unknown }>>;
}
