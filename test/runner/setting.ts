/** What most tests of the runner need: a runner with a script, a fake clock and counted ids, and small tools. */
import {
  Agent,
  AgentRunner,
  defineTool,
  type FreeTextAgentOptions,
  type ModelProvider,
  type Run,
  type RunEvent,
  type RunnerOptions,
  type Tool,
  type ToolContext,
  type ToolOptions,
} from "lanekeeper";
import { checkRequest, FakeClock, SequentialIds } from "lanekeeper/testing";

type Body = (args: Record<string, unknown>, ctx: ToolContext) => unknown;

/** A tool that takes any arguments; without a body it is answered from outside. */
export function tool(
  name: string,
  run?: Body,
  declared: Partial<ToolOptions> = {},
): Tool<Record<string, unknown>, unknown> {
  return defineTool({ ...declared, name, description: name, input: { type: "object" }, run: run as never });
}

export function agent(name: string, options: Partial<FreeTextAgentOptions> = {}): Agent {
  return new Agent({ name, model: "m", freeText: true, ...options });
}

/** A body that takes so long, and does not listen to its signal. */
export const takes =
  (seconds: number, value: unknown = "done"): Body =>
  (_, { clock }) =>
    new Promise((resolve) => void clock.setTimer(seconds * 1_000, () => resolve(value)));

/** A body that waits until it is told to stop. */
export const untilStopped: Body = (_, { signal }) =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** A runner on a clock of its own; `heard` is what `onEvent` was told, in live order. */
export function setUp(provider: ModelProvider | undefined, tools: readonly Tool[], options: RunnerOptions = {}) {
  const clock = new FakeClock();
  const heard: RunEvent[] = [];
  const runner = new AgentRunner({
    ...(provider === undefined ? {} : { provider }),
    tools,
    clock,
    ids: new SequentialIds(),
    onEvent: (event) => void heard.push(event),
    ...options,
  });
  return { clock, heard, runner };
}

/** Events as lines: `0 tool_error a: what it says`. */
export function lines(events: readonly RunEvent[]): string[] {
  return events.map((event) => {
    const call = "callId" in event ? ` ${event.callId}` : "";
    const detail = "detail" in event ? `: ${event.detail}` : "";
    return `${event.path} ${event.kind}${call}${detail}`;
  });
}

/** The kinds of the events of one call, or of all. */
export function kinds(events: readonly RunEvent[], callId?: string): string[] {
  return events
    .filter((event) => callId === undefined || ("callId" in event && event.callId === callId))
    .map(({ kind }) => kind);
}

/** What a vendor would find wrong with the transcript; nothing when each call has its one result. */
export function faults({ messages }: Pick<Run, "messages">): string[] {
  return checkRequest({ model: "m", instructions: "", messages: [...messages], tools: [], settings: {} });
}

/** Results as lines: `a ok: found`. */
export function outcomes({ results }: Pick<Run, "results">): string[] {
  return results.map(({ callId, status, content }) => `${callId} ${status}: ${content}`);
}

/** What a failed or cancelled run ended with. */
export function errorOf(run: Run<unknown>): Error & { code: string } {
  if (run.status !== "failed" && run.status !== "cancelled") throw new Error(`the run is ${run.status}`);
  return run.error;
}
