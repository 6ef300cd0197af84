import type { RunLike } from "../tools/tool-context.ts";

/**
 * What a run resolves to: switch on `status`.
 *
 * `completed` has `output`; `failed` and `cancelled` have `error`; `suspended` has `pending`. In every ending `messages` is
 * the complete transcript, `results` what each call brought, `events` what happened, in an order that does not depend on
 * who finished first (`Semantics 2.3`), `usage` the tokens with those of nested runs, and `state` the merged state.
 */
export type Run<Output = string> = RunLike<Output>;
