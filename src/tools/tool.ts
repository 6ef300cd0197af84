import type { LanekeeperError } from "../base/errors.ts";
import type { GateContext } from "../protocol/gate.ts";
import type { JsonSchema } from "../protocol/json-schema.ts";
import type { ToolContext } from "./tool-context.ts";

/**
 * Something that a model may call, as {@link defineTool} makes it: checked, complete and frozen.
 *
 * `Args` is what the body gets, `Context` what the run must be given as `context`.
 */
// biome-ignore lint/suspicious/noExplicitAny: a list of tools holds tools of any arguments and context.
export interface Tool<Args = any, Context = any> {
  /** `^[A-Za-z0-9_-]{1,64}$`; one tool of a name on a runner. */
  readonly name: string;
  /** What the model is told. */
  readonly description: string;
  /** The JSON Schema of the input that models are shown: an object schema, frozen plain JSON. */
  readonly inputSchema: JsonSchema;
  /** Whether a second call with the same arguments changes nothing more. */
  readonly idempotent: boolean;
  /** Whether the call may share a phase with its neighbours (`Semantics 5`). Asked with parsed arguments. */
  readonly parallelSafe: boolean | ((args: Args) => boolean);
  /** The lane that this tool shares with others (`concurrency.perResource`). */
  readonly resource?: string;
  /** Whether somebody must approve a call. Asked with parsed arguments. */
  readonly requiresApproval: boolean | ((args: Args, ctx: ApprovalContext<Context>) => boolean | Promise<boolean>);
  /** How failed attempts are repeated; only on idempotent tools (`Semantics 7.5`). */
  readonly retry?: RetryPolicy;
  /** Settles a call whose outcome a crash has hidden (`Semantics 11.2`). */
  readonly reconcile?: Reconcile<Args, Context>;
  /** Seconds after which a deaf body is abandoned (`Semantics 4.8`); `Infinity` is never. The lanes' own when absent. */
  readonly abandonSeconds?: number;
  /** The body. Without one a call is answered from outside: it suspends its run (`Semantics 3.5`). */
  readonly run?: (args: Args, ctx: ToolContext<Context>) => unknown;
  /**
   * Parses one call's input form into fresh arguments for its body. Never throws, never rejects, and leaves `input`
   * as it was; what the schema's own code throws is a problem of the call.
   */
  validate(input: unknown): InputCheck<Args> | Promise<InputCheck<Args>>;
}

/** What {@link Tool.validate} found. */
// biome-ignore lint/suspicious/noExplicitAny: as in Tool.
export type InputCheck<Args = any> =
  | { readonly ok: true; readonly args: Args }
  | { readonly ok: false; readonly problems: readonly InputProblem[] };

/** One thing that is wrong with an input. */
export interface InputProblem {
  /** Where: `stops[0].city`; empty for the input as a whole. */
  readonly path: string;
  /** What was expected, in the schema library's words. */
  readonly message: string;
}

/** On whose behalf an approval predicate is asked: the call has not been dispatched and has no body's context yet. */
export interface ApprovalContext<Context = unknown> extends GateContext {
  /** The caller's own context object, as given to the run. */
  context: Context;
}

/** How the attempts of an idempotent call follow each other, complete with defaults. */
export interface RetryPolicy {
  /** All attempts, the first included; at least 1. */
  readonly attempts: number;
  /** Seconds before the second attempt, doubled before each one after. Default 0.1; 0 waits for nothing. */
  readonly backoffSeconds: number;
  /** The longest wait between two attempts. Default 10, or `backoffSeconds` if that is more; `Infinity` for no limit. */
  readonly maxBackoffSeconds: number;
  /** Whether this failure is worth another attempt; all are when absent. `error.cause` is what the body threw. */
  readonly when?: (error: LanekeeperError, attempt: number) => boolean;
}

/** What {@link Tool.reconcile} found out about a call that was dispatched before a crash. */
export type Reconciled = { landed: true; result: unknown } | { landed: false } | { landed: "unknown" };

/** Asked once with the arguments of the call; `ctx.idempotencyKey` is the one that its body was given. */
export type Reconcile<Args, Context> = (args: Args, ctx: ToolContext<Context>) => Reconciled | Promise<Reconciled>;
