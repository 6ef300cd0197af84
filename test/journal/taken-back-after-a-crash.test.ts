import { agentTool } from "lanekeeper";
import { calls, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, setUp, tool } from "../runner/setting.ts";
import { ends, StreamingModel, streamed } from "../runner/streaming.ts";
import { afterCrash, WatchedJournal } from "./journals.ts";

const EAGER = { dispatch: "eager" } as const;
const again = { idempotent: true } as const;
const done = [ends(say("done"))];

const never = new Promise(() => {});
async function left(
  planner: ReturnType<typeof agent>,
  tools: never[],
  ...turns: ConstructorParameters<typeof StreamingModel>
) {
  const journal = new WatchedJournal();
  const c = new AbortController();
  const { runner, clock } = setUp(new StreamingModel(...turns), tools, { ...EAGER, journal, agents: [planner] });
  const running = runner.run(planner, "Go.", { signal: c.signal });
  await clock.settle();
  const entries = await journal.entries("run_1");
  c.abort();
  await clock.promptly(running);
  return afterCrash("run_1", entries);
}
describe("Semantics 3.10, 7.6, 11.2: the calls of an answer that took another's place are calls of their own", () => {
  it("7.6: a call of the new answer does not carry the idempotency key of another call that went out before the crash", async () => {
    const keys: string[] = [];
    const keep = tool("keep", (_, ctx) => void keys.push(ctx.idempotencyKey), again);
    const planner = agent("planner");
    const first = calls({ id: "k", name: "keep", args: { to: "Rome" } });
    const second = calls({ id: "k2", name: "keep", args: { to: "Paris" } });
    const journal = await left(planner, [keep] as never, [...first.toolCalls.flatMap(streamed), never]);
    const next = setUp(new StreamingModel([ends(second)], done), [keep], { ...EAGER, journal, agents: [planner] });
    await next.clock.promptly(next.runner.resume("run_1"));
    expect(new Set(keys).size).toBe(2);
  });
  it("3.10: what a withdrawn agent took counts always or never", async () => {
    const worker = agent("worker", { tools: [] });
    const planner = agent("planner", {
      tools: ["keep", "pay", agentTool(worker, { name: "sub", description: "", ...again })],
    });
    const tools = [tool("keep", () => "kept", again), tool("pay", () => "paid", { requiresApproval: true })];
    const first = calls({ id: "s", name: "sub", args: { input: "x" } });
    const dear = { ...say("w"), usage: { inputTokens: 100, outputTokens: 0, totalTokens: 100 } };
    const journal = await left(planner, tools as never, [...first.toolCalls.flatMap(streamed), never], [ends(dear)]);
    const second = calls({ id: "k2", name: "keep" }, { id: "p", name: "pay" });
    const next = setUp(new StreamingModel([ends(second)], done), tools, { ...EAGER, journal, agents: [planner] });
    const suspended = await next.clock.promptly(next.runner.resume("run_1"));
    if (suspended.status !== "suspended") throw new Error(suspended.status);
    const decisions = { [suspended.pending[0]?.id as string]: { approve: true as const } };
    const resumed = await next.clock.promptly(next.runner.resume("run_1", { decisions }));
    // One more request was made, for 2 tokens.
    expect(resumed.usage.totalTokens - suspended.usage.totalTokens).toBe(2);
  });
});
