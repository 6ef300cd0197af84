import { agentTool, Lanes, type ModelProvider } from "lanekeeper";
import { calls, type FakeClock, Witness } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, outcomes, takes } from "../runner/setting.ts";
import { answering, report } from "./report-world.ts";

/** A model that takes a second for each answer, and counts how many it is asked for at once. */
function slowModel(clock: FakeClock, asked: Witness): ModelProvider {
  const model = answering((_, { agent }) =>
    agent === "worker" ? calls({ leaf: {} }) : calls({ sub: { input: "x" } }, { sub: { input: "y" } }),
  );
  return {
    name: "slow",
    generate: (request, call) =>
      asked.body("model", async () => {
        await new Promise<void>((resolve) => void clock.setTimer(1_000, resolve));
        return model.generate(request, call);
      }),
  };
}

/** A model that is asked one request at a time, in the places of some lanes. */
function bounded(model: ModelProvider, lanes: Lanes): ModelProvider {
  return {
    name: "bounded",
    generate: (request, call) =>
      lanes.use({ tool: "model" }, () => model.generate(request, call), { signal: call.signal }),
  };
}

describe("Semantics 4.3, 4.6: lanes are for tool calls, and a bound on models is held for one request at a time", () => {
  for (const whose of ["its own", "the runner's"]) {
    report(
      `C79: a model that answers one request at a time, in ${whose} lanes, and a tenant with one place get everything done`,
      { starts: { leaf: 2 } },
      async (world) => {
        const { clock } = world;
        const asked = new Witness();
        const lanes = new Lanes({ perTenant: 1, perTool: { model: 1 } }, { clock });
        const models = whose === "its own" ? new Lanes({ perTool: { model: 1 } }, { clock }) : lanes;
        const provider = bounded(slowModel(clock, asked), models);
        const sub = agentTool(agent("worker", { tools: ["leaf"] }), { name: "sub", description: "" });
        const runner = world.runner(provider, [world.tool("leaf", takes(1)), sub], { lanes });
        const running = world.run(runner);
        await clock.advance(8);
        const run = await clock.promptly(running);
        expect(outcomes(run)).toEqual(["sub_0 ok: ok", "sub_1 ok: ok"]);
        expect([asked.peak(), asked.starts()]).toEqual([1, 6]);
      },
    );
  }

  report(
    "C79: while a model is asked, its run stands in no lane, and as many are asked as there are runs",
    { starts: { leaf: 4 } },
    async (world) => {
      const asked = new Witness();
      const model = slowModel(world.clock, asked);
      const runner = world.runner(model, [world.tool("leaf", () => "done")], {
        concurrency: { maxConcurrentTools: 1, perTenant: 1, perTool: { leaf: 1 } },
      });
      const running = Array.from({ length: 4 }, () => world.run(runner, agent("worker")));
      await world.clock.settle();
      expect(asked.inFlight()).toBe(4);
      expect(runner.lanes().every(({ inFlight, waiting }) => inFlight + waiting === 0)).toBe(true);
      await world.clock.advance(2);
      for (const one of running) expect((await world.clock.promptly(one)).status).toBe("completed");
    },
  );
});
