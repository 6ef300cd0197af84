import { AgentRunner, currentCall } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, tool } from "./setting.ts";

describe("Semantics 2.8: a detached run stands apart from the call that started it, also when it stops", () => {
  it("2.8: a detached run's signals abort outside the call that started it, and a run started there is one of its own", async () => {
    const seen: unknown[] = [];
    const c = new AbortController();
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ id: "o", name: "outer" }), say("x")],
      apart: [calls({ id: "i", name: "inner" })],
      cleaner: [say("clean")],
    });
    let apart: Promise<unknown> = Promise.resolve();
    let cleaner: Promise<{ id: string }> | undefined;
    const inner = tool("inner", (_, { signal }) => {
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          seen.push(currentCall()?.callId);
          cleaner = runner.run(agent("cleaner", { tools: [] }), "Go.");
          reject(signal.reason);
        }),
      );
    });
    const outer = tool("outer", async () => {
      apart = runner.run(agent("apart", { tools: ["inner"] }), "Go.", { detached: true, signal: c.signal });
      await new Promise((resolve) => setTimeout(resolve, 60));
      return "x";
    });
    const runner: AgentRunner = new AgentRunner({ provider, tools: [inner, outer] });
    const running = runner.run(agent("planner", { tools: ["outer"] }), "Go.");
    await new Promise((resolve) => setTimeout(resolve, 30));
    c.abort();
    const { id } = await running;
    await apart;
    expect(seen).toEqual([undefined]);
    expect((await cleaner)?.id).not.toBe(id);
  });
});
