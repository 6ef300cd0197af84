import {
  type Agent,
  AgentRunner,
  agentTool,
  currentCall,
  Lanes,
  type Run,
  type Tool,
  type ToolContext,
} from "lanekeeper";
import {
  calls,
  Deferred,
  FakeClock,
  Gate,
  leakCheck,
  ScriptedProvider,
  SequentialIds,
  say,
  Witness,
} from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, lines, outcomes, setUp, takes, tool } from "./setting.ts";

const LEAVES = [calls({ leaf: {} }, { leaf: {} }, { leaf: {} }), say("ok")];

describe("Semantics 4.6, 4.7: nested work is counted once, nothing queues behind itself, and a deadlock is named", () => {
  /** The three ways in which a body runs an agent. */
  const WAYS: Record<string, (worker: Agent, runnerOf: () => AgentRunner) => Tool> = {
    agentTool: (worker) => agentTool(worker, { name: "sub", description: "" }),
    "ctx.run": (worker) => tool("sub", async (_, ctx) => (await ctx.run(worker, "Go.")).status),
    "runner.run, found through async context": (worker, runnerOf) =>
      tool("sub", async () => {
        await Promise.resolve();
        return (await runnerOf().run(worker, "Go.")).status;
      }),
  };

  for (const [way, make] of Object.entries(WAYS)) {
    it(`two sub-agents under a cap of 2 never have more than 2 leaf bodies alive: ${way}`, async () => {
      const witness = new Witness();
      const provider = ScriptedProvider.byAgent({
        planner: [calls({ sub: { input: "x" } }, { sub: { input: "y" } }), say("done")],
        worker: [LEAVES[0], LEAVES[0], LEAVES[1], LEAVES[1]] as never,
      });
      const leaf = tool("leaf", witness.wrap("leaf", takes(0.1)));
      const made = setUp(provider, [leaf, make(agent("worker", { tools: ["leaf"] }), () => made.runner)], {
        concurrency: { perTenant: 2 },
      });
      const { runner, clock } = made;
      clock.autoAdvance = true;
      const leaks = leakCheck(runner, { clock, provider });
      const run = await runner.run(agent("planner"), "Go.");
      expect(run.status).toBe("completed");
      expect(run.results.map(({ status }) => status)).toEqual(["ok", "ok"]);
      expect(witness.peak("leaf")).toBe(2);
      expect(witness.starts("leaf")).toBe(6);
      // Two at a time is three waves of 100 ms: the callers' places are used, and not one more.
      expect(clock.monotonic()).toBe(300);
      await leaks.done();
    });
  }

  it("with every bound at 1 a run nested three deep completes, one body working at a time", async () => {
    const witness = new Witness();
    const provider = ScriptedProvider.byAgent({
      one: [calls({ two: { input: "x" } }, { leaf: {} }), say("1")],
      two: [calls({ three: { input: "x" } }, { leaf: {} }), say("2")],
      three: [calls({ leaf: {} }, { leaf: {} }), say("3")],
    });
    const leaf = tool("leaf", witness.wrap("leaf", takes(0.01)), { resource: "all" });
    const shared = { description: "", resource: "all" };
    const three = agentTool(agent("three", { tools: ["leaf"] }), { name: "three", ...shared });
    const two = agentTool(agent("two", { tools: ["three", "leaf"] }), { name: "two", ...shared });
    const { runner, clock } = setUp(provider, [leaf, two, three], {
      concurrency: {
        maxConcurrentTools: 1,
        perTenant: 1,
        perTool: { leaf: 1, two: 1, three: 1 },
        perResource: { all: 1 },
      },
    });
    clock.autoAdvance = true;
    const leaks = leakCheck(runner, { clock, provider });
    const run = await runner.run(agent("one"), "Go.");
    expect(outcomes(run)).toEqual(["t1_two_0 ok: 2", "t1_leaf_1 ok: done"]);
    expect(witness.starts()).toBe(4);
    expect(witness.peak()).toBe(1);
    await leaks.done();
  });

  it("nested calls go ahead of a sibling that waits for the caller's place", async () => {
    const gate = new Gate();
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: { input: "x" } }, { leaf: { q: "sibling" } }), say("done")],
      worker: [calls({ leaf: { q: "p" } }, { leaf: { q: "q" } }), say("ok")],
    });
    const leaf = tool("leaf", ({ q }) => gate.wait(q as string));
    const sub = agentTool(agent("worker", { tools: ["leaf"] }), { name: "sub", description: "" });
    const { runner, clock } = setUp(provider, [leaf, sub], { concurrency: { perTenant: 1 } });
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    for (const label of ["p", "q", "sibling"]) {
      await clock.promptly(gate.arrived(label));
      expect(gate.waiting).toEqual([label]);
      gate.open(label);
    }
    await clock.promptly(running);
    await leaks.done();
  });

  it("a nested call in the caller's own narrow tool takes the caller's place there", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: {} }), say("done")],
      worker: [calls({ sub: { deep: true } }), say("ok")],
    });
    const { runner, clock, heard } = setUp(
      provider,
      [tool("sub", async ({ deep }, ctx) => (deep === true ? "leaf" : (await ctx.run(agent("worker"), "Go.")).status))],
      { concurrency: { perTool: { sub: 1 } } },
    );
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(outcomes(run)).toEqual(["t1_sub_0 ok: completed"]);
    expect(lines(heard).filter((line) => line.includes("dispatched"))).toEqual([
      "0 tool_dispatched t1_sub_0: dispatched",
      "0/1.0 tool_dispatched t1_sub_0: dispatched",
    ]);
    await leaks.done();
  });

  it("places that a body took with lanes.use are lent to the runs below it too", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: {} }), say("done")],
      worker: [calls({ leaf: {} }), say("ok")],
    });
    const clock = new FakeClock();
    const lanes = new Lanes({ perTool: { leaf: 1 } }, { clock });
    const runner: AgentRunner = new AgentRunner({
      provider,
      lanes,
      clock,
      ids: new SequentialIds(),
      tools: [
        tool("leaf", () => "leaf"),
        tool("sub", () => lanes.use({ tool: "leaf" }, async () => (await runner.run(agent("worker"), "Go.")).status)),
      ],
    });
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(outcomes(run)).toEqual(["t1_sub_0 ok: completed"]);
    await leaks.done();
  });

  it("a run that others start with a body's ctx is nested in the body all the same", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: {} }), say("done")],
      worker: [calls({ leaf: {} }), say("ok")],
    });
    const handed = new Deferred<ToolContext>();
    const started = handed.promise.then((ctx) => ctx.run(agent("worker"), "Go."));
    const { runner, clock } = setUp(
      provider,
      [
        tool("leaf", () => currentCall()?.path),
        tool("sub", async (_, ctx) => {
          handed.resolve(ctx);
          return (await started).results[0]?.content;
        }),
      ],
      { concurrency: { perTenant: 1 } },
    );
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(outcomes(run)).toEqual(["t1_sub_0 ok: 0/1.0"]);
    await leaks.done();
  });

  it("a deadlock between two nested runs is named as the result of the call that closed the knot", async () => {
    const both = new Gate();
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ left: {} }, { right: {} }), say("done")],
      lefty: [calls({ right: { leaf: true } }), say("left done")],
      righty: [calls({ left: { leaf: true } }), say("right done")],
    });
    const side = (name: string, worker: string): Tool =>
      tool(name, async ({ leaf }, ctx) => {
        if (leaf === true) return "leaf";
        await both.wait(name);
        const run = await ctx.run(agent(worker), "Go.");
        return run.results[0]?.content;
      });
    const { runner, clock } = setUp(provider, [side("left", "lefty"), side("right", "righty")], {
      concurrency: { perTool: { left: 1, right: 1 } },
    });
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    await clock.promptly(both.arrived("right"));
    both.open("left");
    await clock.settle();
    both.open("right");
    const run = await clock.promptly(running);
    expect(run.status).toBe("completed");
    expect(run.results.map(({ status }) => status)).toEqual(["ok", "ok"]);
    // The left one waits for the right one's place; the right one would have closed the ring, and ends instead.
    expect(run.results[0]?.content).toBe("leaf");
    expect(run.results[1]?.content).toMatch(
      /^never dispatched: expected a place to come free without this call, got a deadlock:/,
    );
    const failed = run.events.find(({ kind, path }) => kind === "tool_error" && path === "0/1.1");
    expect(failed).toMatchObject({ tool: "left", status: "never_dispatched", error: { code: "LANE_DEADLOCK" } });
    await leaks.done();
  });

  it("three sub-agents that share one narrow tool are no deadlock: they wait and go", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: { input: "a" } }, { sub: { input: "b" } }, { sub: { input: "c" } }), say("done")],
      worker: [...Array.from({ length: 3 }, () => calls({ leaf: {} }, { leaf: {} })), say("ok"), say("ok"), say("ok")],
    });
    const witness = new Witness();
    const sub = agentTool(agent("worker", { tools: ["leaf"] }), { name: "sub", description: "" });
    const { runner, clock } = setUp(provider, [tool("leaf", witness.wrap("leaf", takes(0.1))), sub], {
      concurrency: { perTool: { leaf: 1, sub: 2 }, perTenant: 2 },
    });
    clock.autoAdvance = true;
    const leaks = leakCheck(runner, { clock, provider });
    const run: Run = await runner.run(agent("planner"), "Go.");
    expect(run.results.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
    expect(witness.peak()).toBe(1);
    expect(clock.monotonic()).toBe(600);
    await leaks.done();
  });
});
