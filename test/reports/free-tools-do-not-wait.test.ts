import { agentTool } from "lanekeeper";
import { calls, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, outcomes } from "../runner/setting.ts";
import { answering, report, standing } from "./report-world.ts";

const asked = answering((input) => calls(...input.split(" ").map((written) => ({ [written]: {} }))));

describe("Semantics 4.4, 4.5, 4.7: a call before a busy tool stands in nobody's way", () => {
  report(
    "C23: quick calls behind one that waits for a slow tool run at once, and the results stand in call order",
    { starts: { slow: 2, quick: 2 } },
    async (world) => {
      const runner = world.runner(asked, [world.deaf("slow"), world.tool("quick", () => "quick")], {
        concurrency: { perTenant: 2, perTool: { slow: 1 } },
      });
      const running = world.run(runner, agent("planner"), "slow slow quick quick");
      await world.clock.settle();
      expect(world.witness.order.filter((line) => !line.startsWith("tenant"))).toEqual([
        "slow starts",
        ...["quick starts", "quick ends", "quick starts", "quick ends"],
      ]);
      expect(standing(runner)).toEqual([
        "tool:slow: 1 in flight, 1 waiting",
        "tenant:default: 1 in flight, 1 waiting",
        "turn:run_1/0/1: 1 in flight, 1 waiting",
      ]);
      world.gate.open("slow_0", "slow");
      expect(outcomes(await world.finish(running))).toEqual([
        "slow_0 ok: slow",
        "slow_1 ok: done",
        "quick_2 ok: quick",
        "quick_3 ok: quick",
      ]);
    },
  );

  report(
    "C23: a tenant whose calls all wait for one slow tool leaves its places to its other runs",
    { starts: { slow: 5, quick: 2 } },
    async (world) => {
      const runner = world.runner(asked, [world.deaf("slow"), world.deaf("quick")], {
        concurrency: { perTenant: 3, perTool: { slow: 1 } },
      });
      const slow = world.run(runner, agent("planner"), "slow slow slow slow slow");
      await world.clock.settle();
      const quick = world.run(runner, agent("planner"), "quick quick");
      await world.clock.settle();
      expect(world.gate.waiting).toEqual(["slow_0", "quick_0", "quick_1"]);
      await world.finish(quick);
      await world.finish(slow);
    },
  );

  report(
    "C23: two runs that want each other's tools, first to last, both complete",
    { starts: { left: 4, right: 4 } },
    async (world) => {
      const runner = world.runner(asked, [world.deaf("left"), world.deaf("right")], {
        concurrency: { perTenant: 2, perTool: { left: 1, right: 1 } },
      });
      const both = [
        world.run(runner, agent("planner"), "left right left right"),
        world.run(runner, agent("planner"), "right left right left"),
      ];
      await world.clock.settle();
      expect(world.gate.waiting).toHaveLength(2);
      for (const running of both) expect((await world.finish(running)).status).toBe("completed");
    },
  );

  report(
    "C23: two runs whose bodies want each other's tools do not hang: the call that closes the ring is told so",
    { starts: {} },
    async (world) => {
      const nested = (name: string, wants: string) =>
        agentTool(agent(`in ${name}`, { tools: [wants] }), { name, description: "" });
      const wants: Record<string, string> = { left: "left", right: "right", "in left": "right", "in right": "left" };
      // Two runs deep nobody wants more.
      const provider = answering((_, { agent, path }) =>
        path.split("/").length > 2 ? say("ok") : calls({ [wants[agent] as string]: { input: "x" } }),
      );
      const runner = world.runner(provider, [nested("left", "right"), nested("right", "left")], {
        concurrency: { perTool: { left: 1, right: 1 } },
      });
      const both = ["left", "right"].map((name) => world.run(runner, agent(name)));
      for (const running of both) expect((await world.clock.promptly(running)).status).toBe("completed");
      const told = world.heard.flatMap((event) => (event.kind === "tool_error" ? [event.error.code] : []));
      expect(told).toEqual(["LANE_DEADLOCK"]);
    },
  );
});
