import type { Usage } from "../protocol/usage.ts";

/** Adds `more` to `to`. */
export function addUsage(to: Usage, more: Usage): void {
  to.inputTokens += more.inputTokens;
  to.outputTokens += more.outputTokens;
  to.totalTokens += more.totalTokens;
}
