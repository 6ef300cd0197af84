import { type AgentRunner, agentTool, type ConcurrencyOptions, type Tool } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, lines, outcomes, takes } from "../runner/setting.ts";
import { answering, type ReportWorld, report, standing } from "./report-world.ts";

const worker = agent("worker", { tools: ["leaf"] });

/** The ways in which a call runs an agent. `runnerOf` is asked when the body runs. */
const WAYS: Record<string, (world: ReportWorld, runnerOf: () => AgentRunner) => Tool> = {
  agentTool: () => agentTool(worker, { name: "sub", description: "" }),
  "ctx.run": (world) => world.tool("sub", async (_, ctx) => (await ctx.run(worker, "Go.")).status, { isCaller: true }),
  "a plain runner.run": (world, runnerOf) =>
    world.tool("sub", async () => (await runnerOf().run(worker, "Go.")).status, { isCaller: true }),
};

const two = calls({ leaf: {} }, { leaf: {} });
const sub = { sub: { input: "x" } };

describe("Semantics 4.6, 8: at any bound and depth, nested runs complete in their callers' places", () => {
  for (const [way, make] of Object.entries(WAYS)) {
    const callers: Record<string, number> = way === "agentTool" ? {} : { sub: 1 };

    report(
      `C01: with one place for the tenant, what is nested by ${way} runs in it, ahead of the sibling that waits`,
      { starts: { ...callers, leaf: 3 } },
      async (world) => {
        const leaf = world.deaf("leaf");
        const script = { planner: [calls(sub, { id: "x", name: "leaf" }), say("done")], worker: [two, say("ok")] };
        const runner: AgentRunner = world.runner(ScriptedProvider.byAgent(script), [leaf, make(world, () => runner)], {
          concurrency: { perTenant: 1 },
        });
        const running = world.run(runner);
        for (const next of ["t1_leaf_0", "t1_leaf_1", "x"]) {
          await world.clock.settle();
          expect(world.gate.waiting).toEqual([next]);
          world.gate.open(next, next);
        }
        const run = await world.clock.promptly(running);
        expect(run.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual(["t1_sub_0 ok", "x ok"]);
      },
    );

    report(
      `C01: nothing that another run of the tenant queued before comes between a call and what is nested in it by ${way}`,
      { starts: { ...callers, leaf: 3 } },
      async (world) => {
        const leaf = world.deaf("leaf");
        const script = {
          planner: [() => world.gate.wait("asked").then(() => calls(sub)), say("done")],
          other: [calls({ id: "y", name: "leaf" }), say("done")],
          worker: [() => world.gate.wait("below").then(() => two), say("ok")],
        };
        const runner: AgentRunner = world.runner(ScriptedProvider.byAgent(script), [leaf, make(world, () => runner)], {
          concurrency: { perTenant: 1 },
        });
        const running = world.run(runner);
        await world.clock.settle();
        world.gate.open("asked", "");
        await world.clock.settle();
        const other = world.run(runner, agent("other", { tools: ["leaf"] }));
        await world.clock.settle();
        expect(world.gate.waiting).toEqual(["below"]);
        for (const next of ["below", "t1_leaf_0", "t1_leaf_1", "y"]) {
          await world.clock.settle();
          expect(world.gate.waiting).toEqual([next]);
          world.gate.open(next, next);
        }
        await world.finish(running);
        await world.finish(other);
      },
    );
  }

  const WIDE: { subs: number; leaves: number; concurrency: ConcurrencyOptions; seconds: number }[] = [
    { subs: 2, leaves: 2, concurrency: { perTenant: 2 }, seconds: 2 },
    { subs: 5, leaves: 3, concurrency: { perTenant: 3 }, seconds: 5 },
    { subs: 5, leaves: 3, concurrency: { maxConcurrentTools: 3 }, seconds: 5 },
    { subs: 5, leaves: 3, concurrency: { perResource: { all: 3 } }, seconds: 5 },
    { subs: 5, leaves: 3, concurrency: { perTenant: 3, perTool: { sub: 2, leaf: 3 } }, seconds: 5 },
    { subs: 6, leaves: 4, concurrency: { perTenant: 1 }, seconds: 24 },
  ];
  for (const { subs, leaves, concurrency, seconds } of WIDE) {
    report(
      `C01: ${subs} nested runs of ${leaves} calls use ${JSON.stringify(concurrency)} to the full, and never pass it`,
      { starts: { leaf: subs * leaves } },
      async (world) => {
        const times = (count: number, one: Record<string, unknown>) =>
          calls(...Array.from({ length: count }, () => one));
        const provider = answering((_, { agent }) =>
          agent === "planner" ? times(subs, sub) : times(leaves, { leaf: {} }),
        );
        const leaf = world.tool("leaf", takes(1), { resource: "all" });
        const asTool = agentTool(worker, { name: "sub", description: "", resource: "all" });
        const runner = world.runner(provider, [leaf, asTool], { concurrency });
        const running = world.run(runner);
        await world.clock.advance(seconds);
        const run = await world.clock.promptly(running);
        expect(outcomes(run)).toEqual(Array.from({ length: subs }, (_, no) => `sub_${no} ok: ok`));
      },
    );
  }

  report(
    "C01: with every bound at 1, runs nested three deep complete, and each level's own calls with them",
    { starts: { leaf: 4 } },
    async (world) => {
      const all = { description: "", resource: "all" };
      const leaf = world.tool("leaf", takes(1), { resource: "all" });
      const low = agentTool(agent("low", { tools: ["leaf"] }), { name: "low", ...all });
      const middle = agentTool(agent("middle", { tools: ["leaf", "low"] }), { name: "middle", ...all });
      const provider = ScriptedProvider.byAgent({
        planner: [calls({ middle: { input: "x" } }, { leaf: {} }), say("done")],
        middle: [calls({ low: { input: "x" } }, { leaf: {} }), say("ok")],
        low: [two, say("ok")],
      });
      const runner = world.runner(provider, [leaf, low, middle], {
        concurrency: {
          maxConcurrentTools: 1,
          perTenant: 1,
          perTool: { leaf: 1, low: 1, middle: 1 },
          perResource: { all: 1 },
        },
      });
      const running = world.run(runner);
      await world.clock.advance(4);
      const run = await world.clock.promptly(running);
      expect(outcomes(run)).toEqual(["t1_middle_0 ok: ok", "t1_leaf_1 ok: done"]);
    },
  );

  for (const kind of ["deaf", "listening"] as const) {
    report(
      `C01: a stop of the outer run ends what is nested, what of it waits included, when the nested body is ${kind}`,
      { starts: { leaf: 1 } },
      async (world) => {
        const stop = new AbortController();
        const script = { planner: [calls(sub, { id: "x", name: "leaf" })], worker: [two] };
        const asTool = agentTool(worker, { name: "sub", description: "" });
        const runner = world.runner(ScriptedProvider.byAgent(script), [world[kind]("leaf"), asTool], {
          concurrency: { perTenant: 1 },
        });
        const running = world.run(runner, agent("planner"), "Go.", { signal: stop.signal });
        await world.clock.settle();
        expect(world.gate.waiting).toEqual(["t1_leaf_0"]);
        stop.abort(new Error("enough"));
        const run = await world.clock.promptly(running);
        expect(run.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual([
          "t1_sub_0 indeterminate",
          "x never_dispatched",
        ]);
        const nested = lines(run.events).filter((line) => /^0\/1\.0 tool_(error|indeterminate)/.test(line));
        expect(nested.map((line) => line.split(":")[0])).toEqual([
          "0/1.0 tool_indeterminate t1_leaf_0",
          "0/1.0 tool_error t1_leaf_1",
        ]);
        // A body that does not listen keeps its own places, and nothing but those.
        await world.clock.settle();
        const kept = ["tenant:default", "turn:run_1/0/1", "turn:run_1/0/1.0/1"].map(
          (lane) => `${lane}: 1 in flight, 0 waiting`,
        );
        expect(standing(runner)).toEqual(kind === "deaf" ? kept : []);
        await world.finish(running);
      },
    );
  }
});
