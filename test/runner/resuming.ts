/** What tests of suspended runs need: a payment that somebody approves, and short ways to say and see things. */
import {
  type Decision,
  defineTool,
  type PendingCall,
  type Run,
  type RunEvent,
  type RunnerOptions,
  type Tool,
  type ToolContext,
  type ToolOptions,
} from "lanekeeper";
import type { ScriptedProvider } from "lanekeeper/testing";
import { agent, setUp } from "./setting.ts";

export const approve: Decision = { approve: true };

/** What a suspended run waits for. */
export function pendingOf(run: Run<unknown>): readonly PendingCall[] {
  if (run.status !== "suspended") {
    throw new Error(`the run is ${run.status}${"error" in run ? `: ${run.error.message}` : ""}`);
  }
  return run.pending;
}

/** The same decision about everything that a run waits for. */
export function about(run: Run<unknown>, decision: Decision): Record<string, Decision> {
  return Object.fromEntries(pendingOf(run).map(({ id }) => [id, decision]));
}

/** `pay`, which somebody must approve; `ran` has what its bodies were asked, with their idempotency keys. */
export function payments(declared: Partial<ToolOptions> = {}) {
  const ran: { args: Record<string, unknown>; key: string }[] = [];
  const body = (args: Record<string, unknown>, { idempotencyKey: key }: ToolContext): string => {
    ran.push({ args, key });
    return `paid ${args.sum ?? ""}`.trim();
  };
  const input = { type: "object" };
  const options = { name: "pay", description: "Pay.", input, run: body as never, requiresApproval: true };
  return { ran, pay: defineTool({ ...options, ...declared }) };
}

/** A runner that knows one agent, `planner`, and can resume its runs. */
export function setUpPlanner(provider: ScriptedProvider, tools: readonly Tool[], options: RunnerOptions = {}) {
  const planner = agent("planner");
  return { planner, ...setUp(provider, tools, { agents: [planner], ...options }) };
}

/** What the model is told about each call, in order: `a: paid 5`. */
export function answers({ messages }: Pick<Run, "messages">): string[] {
  return messages.flatMap((message) => (message.role === "tool" ? `${message.callId}: ${message.content}` : []));
}

const VERDICTS = new Set(["tool_result", "tool_error", "tool_indeterminate"]);

/** How many verdicts each call that was asked for has been told, over all the events given. */
export function verdicts(events: readonly RunEvent[]): Record<string, number> {
  const told: Record<string, number> = {};
  for (const event of events) {
    if (!("callId" in event)) continue;
    const key = `${event.path}/${event.turn}.${event.position}`;
    if (event.kind === "tool_requested") told[key] ??= 0;
    if (VERDICTS.has(event.kind)) told[key] = (told[key] ?? 0) + 1;
  }
  return told;
}
