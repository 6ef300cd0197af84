import { agentTool, type RunnerOptions } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, outcomes, setUp, tool } from "./setting.ts";

/** An agent that calls itself as a tool, until it is told that it cannot. */
function endless(options: RunnerOptions) {
  const depths: number[] = [];
  const generate = async ({ messages }: { messages: { role: string; content: unknown }[] }) => {
    const last = messages.at(-1);
    return last?.role === "tool" ? say(String(last.content)) : calls({ again: { input: "Deeper." } });
  };
  const self = agent("self", { tools: ["again"] });
  const provider = { name: "endless", generate } as never;
  const note = {
    name: "depths",
    beforeTool: (_: unknown, ctx: { path: string }) => void depths.push(ctx.path.split("/").length - 1),
  };
  return {
    self,
    depths,
    ...setUp(provider, [agentTool(self, { name: "again", description: "" })], { hooks: [note], ...options }),
  };
}

describe("Semantics 2.8, 2.10: nesting and the calls of a turn are bounded", () => {
  it("a run nested deeper than maxDepth is a failure of the call that asked for it", async () => {
    for (const [options, deepest] of [
      [{}, 8],
      [{ limits: { maxDepth: 1 } }, 1],
    ] as const) {
      const { runner, self, depths, clock } = endless(options);
      const leaks = leakCheck(runner, { clock });
      const run = await clock.promptly(runner.run(self, "Go."));
      expect(run).toMatchObject({
        status: "completed",
        output: `again failed: limits.maxDepth: expected at most ${deepest} runs above one, got one more`,
      });
      expect(depths).toEqual(Array.from({ length: deepest + 1 }, (_, depth) => depth));
      expect(run.results).toMatchObject([{ status: "ok" }]);
      await leaks.done();
    }
  });

  it("ctx.run is rejected at the limit, and never throws", async () => {
    const provider = new ScriptedProvider(calls({ nest: {} }), calls({ nest: {} }), say("ok"), say("ok"));
    const planner = agent("planner");
    const said: unknown[] = [];
    const { runner, clock } = setUp(
      provider,
      [
        tool("nest", async (_, ctx) => {
          const nested = ctx.run(planner, "Deeper.");
          await nested.then(
            ({ status }) => said.push(status),
            ({ code }) => said.push(code),
          );
        }),
      ],
      { limits: { maxDepth: 1 } },
    );
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(planner, "Go."));
    expect(said).toEqual(["CONFIGURATION", "completed"]);
    expect(outcomes(run)).toEqual(["t1_nest_0 ok: "]);
    await leaks.done();
  });

  it("a body that starts one there and does not wait is no unheard rejection", async () => {
    const provider = new ScriptedProvider(calls({ nest: {} }), calls({ nest: {} }), say("ok"), say("ok"));
    const planner = agent("planner");
    const made = setUp(
      provider,
      [
        tool("nest", async (_, ctx) => {
          if (ctx.depth === 0) await ctx.run(planner, "Deeper.");
          else {
            void ctx.run(planner, "Too deep.");
            void made.runner.run(planner, "Too deep.");
          }
        }),
      ],
      { limits: { maxDepth: 1 } },
    );
    const { runner, clock } = made;
    const leaks = leakCheck(runner, { clock, provider });
    expect((await clock.promptly(runner.run(planner, "Go."))).status).toBe("completed");
    await leaks.done();
  });

  it("calls past maxCallsPerTurn are answered and not run, in call order", async () => {
    const provider = new ScriptedProvider(calls(...Array.from({ length: 5 }, () => ({ search: {} }))), say("done"));
    const { runner } = setUp(provider, [tool("search", () => "found")], { limits: { maxCallsPerTurn: 3 } });
    const run = await runner.run(agent("planner"), "Go.");
    expect(outcomes(run)).toEqual([
      ...[0, 1, 2].map((at) => `t1_search_${at} ok: found`),
      ...[3, 4].map((at) => `t1_search_${at} never_dispatched: never dispatched: a turn runs at most 3 calls`),
    ]);
    provider.assertFinished();
  });
});
