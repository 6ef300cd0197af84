import { agentTool, type ConcurrencyOptions } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say, Witness } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, faults, outcomes, setUp, takes, tool } from "./setting.ts";

/** Bounds under names that every object knows, as own properties. */
const bounds = JSON.parse(
  '{"perTool":{"constructor":1,"__proto__":1},"perResource":{"__proto__":1,"toString":1},"perToolSeconds":{"constructor":1}}',
) as ConcurrencyOptions;

describe("Semantics 2.5, 4.1, 4.6, 4.8, 8: names that every object knows are names like any other", () => {
  it("three deep, deaf, cut off and cancelled half way: bounds hold, and every call has its one result", async () => {
    for (const cancelAt of [0.5, 1.5, 2.5]) {
      const witness = new Witness();
      const body = takes(5);
      const deaf = tool("constructor", (args, ctx) => witness.body("deaf", () => body(args, ctx) as Promise<unknown>), {
        resource: "__proto__",
      });
      const below = agent("__proto__", { tools: [deaf], concurrency: bounds });
      const between = agent("toString", {
        tools: [agentTool(below, { name: "__proto__", description: "", resource: "toString" })],
      });
      const planner = agent("hasOwnProperty", { tools: [agentTool(between, { name: "valueOf", description: "" })] });
      const provider = ScriptedProvider.byAgent({
        hasOwnProperty: [calls({ valueOf: { input: "a" } }, { valueOf: { input: "b" } }), say("done")],
        toString: [1, 2].map(() => calls({ id: "__proto__", name: "__proto__", args: { input: "?" } })),
        ["__proto__"]: [1, 2].map(() => calls({ id: "x", name: "constructor" }, { id: "y", name: "constructor" })),
      });
      const controller = new AbortController();
      const { runner, clock } = setUp(provider, [], { agents: [planner, between, below], concurrency: bounds });
      const leaks = leakCheck(runner, { clock, signal: controller.signal });
      const running = runner.run(planner, "Go.", {
        tenant: "__proto__",
        runId: "constructor",
        signal: controller.signal,
      });
      await clock.advance(cancelAt);
      controller.abort();
      const run = await clock.promptly(running);
      expect(outcomes(run)).toHaveLength(2);
      expect(faults(run)).toEqual([]);
      await clock.advance(60);
      expect(witness.peak("deaf"), `cancelled at ${cancelAt}`).toBe(1);
      expect(runner.lanes().every(({ inFlight, waiting }) => inFlight + waiting === 0)).toBe(true);
      await leaks.done();
    }
  });
});
