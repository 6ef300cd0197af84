import { currentPermit } from "../lanes/current-permit.ts";
import { callersOf } from "../lanes/nesting.ts";
import type { ToolContext } from "../tools/tool-context.ts";
import { Attempt } from "./attempt.ts";

/**
 * The context of the call in whose body this code runs, from anywhere below it; `undefined` outside of any.
 *
 * The same object as the body's `ctx`, found through async context (`Semantics 9.3`). In what a body started and that
 * outlives it, it is still there, and inert.
 */
export function currentCall(): ToolContext | undefined {
  return currentAttempt()?.context;
}

/** The attempt in whose body this code runs. */
export function currentAttempt(): Attempt | undefined {
  for (const { holder } of callersOf(currentPermit())) if (holder instanceof Attempt) return holder;
  return undefined;
}
