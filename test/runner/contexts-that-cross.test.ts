import { currentCall } from "lanekeeper";
import { Lanes } from "lanekeeper/lanes";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, outcomes, setUp, tool } from "./setting.ts";

describe("Semantics 2.8, 4.6: a body may use the ctx of a call above it", () => {
  it("its nested run stands below that call, and nothing that looks for callers goes round in circles", async () => {
    const others = new Lanes({ perTool: { z: 1 } });
    const seen: unknown[] = [];
    const outer = tool("outer", async (_, ctx) => {
      const inner = tool("inner", async () => {
        const run = await ctx.run(agent("leaf", { tools: [] }), "Go.");
        seen.push(await others.use({ tool: "z" }, async () => currentCall()?.tool), run.events[0]?.path);
        return run.status;
      });
      return (await ctx.run(agent("mid", { tools: [inner] }), "Go.")).status;
    });
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ id: "a", name: "outer" }), say("done")],
      mid: [calls({ inner: {} }), say("done")],
      leaf: [say("done")],
    });
    const { runner, clock } = setUp(provider, [outer], {
      concurrency: { perTool: { outer: 1 }, maxConcurrentTools: 1 },
    });
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(outcomes(run)).toEqual(["a ok: completed"]);
    expect(seen).toEqual(["inner", "0/1.0:2"]);
    await leaks.done();
  });
});
