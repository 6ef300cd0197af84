import { agentTool, type Decision } from "lanekeeper";
import { calls, Deferred, Gate, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, outcomes, setUp, takes, tool } from "./setting.ts";

const SCRIPTS = {
  planner: [calls({ sub: { input: "x" } }), say("done")],
  worker: [calls({ leaf: {} }), say("ok")],
};

describe("Semantics 3.8, 7.2: a ceiling stands still while everything below its call waits, and runs while it works", () => {
  it("for a lane that another run holds", async () => {
    const provider = ScriptedProvider.byAgent({ ...SCRIPTS, other: [calls({ leaf: {} }), say("ok")] });
    const gate = new Gate();
    const sub = agentTool(agent("worker", { tools: ["leaf"] }), { name: "sub", description: "" });
    const { runner, clock } = setUp(provider, [tool("leaf", () => gate.wait("leaf")), sub], {
      concurrency: { perTool: { leaf: 1 }, perToolSeconds: { sub: 2 } },
    });
    const leaks = leakCheck(runner, { clock, provider });
    const other = runner.run(agent("other"), "Go.");
    await clock.promptly(gate.arrived("leaf"));
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(100);
    expect(gate.arrivals).toHaveLength(1);
    gate.open("leaf");
    await clock.promptly(other);
    await clock.promptly(gate.arrived("leaf", 2));
    await clock.advance(1.999);
    gate.open("leaf");
    expect(outcomes(await clock.promptly(running))).toEqual(["t1_sub_0 ok: ok"]);
    await leaks.done();
  });

  it("for a person, at any depth", async () => {
    const decision = new Deferred<Decision>();
    const provider = ScriptedProvider.byAgent({
      planner: SCRIPTS.planner,
      worker: [calls({ dig: { input: "x" } }), say("ok")],
      digger: [calls({ leaf: {} }), say("ok")],
    });
    const dig = agentTool(agent("digger", { tools: ["leaf"] }), { name: "dig", description: "" });
    const sub = agentTool(agent("worker", { tools: ["dig"] }), { name: "sub", description: "" });
    const { runner, clock } = setUp(provider, [tool("leaf", takes(1), { requiresApproval: true }), sub, dig], {
      concurrency: { perToolSeconds: { sub: 2, dig: 2 } },
      deadlines: { toolCallSeconds: 5 },
      approver: () => decision.promise,
    });
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(3_600);
    // The caller keeps its places while a person thinks, and nothing else is held.
    expect(runner.lanes().flatMap(({ holders }) => holders.map(({ tool: name }) => name))).toEqual([
      "sub",
      "dig",
      "dig",
    ]);
    decision.resolve({ approve: true });
    await clock.advance(1);
    expect(outcomes(await clock.promptly(running))).toEqual(["t1_sub_0 ok: ok"]);
    await leaks.done();
  });

  it("and runs on while the nested run works: its bodies, and its model", async () => {
    for (const slow of ["body", "model"]) {
      const provider = ScriptedProvider.byAgent({
        planner: SCRIPTS.planner,
        worker: [slow === "model" ? () => new Promise<never>(() => {}) : calls({ leaf: {} })],
      });
      const sub = agentTool(agent("worker", { tools: ["leaf"] }), { name: "sub", description: "" });
      const { runner, clock } = setUp(provider, [tool("leaf", takes(100)), sub], {
        concurrency: { perToolSeconds: { sub: 2 } },
      });
      const leaks = leakCheck(runner, { clock, provider });
      const running = runner.run(agent("planner"), "Go.");
      await clock.advance(2);
      const run = await clock.promptly(running);
      expect(run.results).toMatchObject([{ status: "error", error: { code: "TOOL_TIMED_OUT", ceilingSeconds: 2 } }]);
      await clock.advance(100);
      await leaks.done();
    }
  });

  it("one that works beside one that waits keeps the ceiling running", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: SCRIPTS.planner,
      worker: [calls({ leaf: {} }, { leaf: {} })],
    });
    const sub = agentTool(agent("worker", { tools: ["leaf"] }), { name: "sub", description: "" });
    const { runner, clock } = setUp(provider, [tool("leaf", takes(1.5)), sub], {
      concurrency: { perTool: { leaf: 1 }, perToolSeconds: { sub: 2 } },
    });
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(2);
    expect(outcomes(await clock.promptly(running))).toEqual([
      "t1_sub_0 error: sub took longer than its ceiling of 2 s. The side effect may have landed.",
    ]);
  });
});
