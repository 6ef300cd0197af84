import { type AgentRunner, agentTool, type GateCall, type GateContext, type Hook } from "lanekeeper";
import { calls, ScriptedProvider, say, Witness } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, outcomes, takes } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

/** A hook that takes 0.03 s before and 0.01 s after a call, and notes what it was given; `busy` counts it by run. */
function slowHook({ clock }: ReportWorld) {
  const order: string[] = [];
  const busy = new Witness();
  const ask =
    (moment: string, milliseconds: number) =>
    ({ id, args }: GateCall, { runId, path, context }: GateContext) =>
      busy.body(`${runId} ${path}`, async () => {
        order.push(`${path} ${moment} ${id} ${JSON.stringify(args)} for ${context}`);
        await new Promise<void>((resolve) => void clock.setTimer(milliseconds, resolve));
      });
  const after = ask("after", 10);
  const hook: Hook = { name: "slow", beforeTool: ask("before", 30), afterTool: (call, _, ctx) => after(call, ctx) };
  return { hook, order, busy };
}

const SIX = ["a", "b", "c", "d", "e", "f"];
const of = (ids: readonly string[], moment: string, path = "0", whose = "us") =>
  ids.map((id, n) => `${path} ${moment} ${id} {"n":${n}} for ${whose}`);
const asked = (ids: readonly string[], name = "work") => calls(...ids.map((id, n) => ({ id, name, args: { n } })));

describe("Semantics 3.1, 3.4, 3.10: hooks are asked about every call, in call order, one at a time in a run and never across runs", () => {
  for (const dispatch of ["after_gates", "eager"] as const) {
    report(
      `C53: six calls that go out ${dispatch} are asked about six times before and six times after, whoever ends first`,
      { starts: { work: 6 } },
      async (world) => {
        const { hook, order, busy } = slowHook(world);
        // The last ends first.
        const work = world.tool("work", (args, ctx) => takes((6 - (args.n as number)) / 100)(args, ctx));
        const runner = world.runner(new ScriptedProvider(asked(SIX), say("ok")), [work], { hooks: [hook], dispatch });
        const running = world.run(runner, agent("planner"), "Go.", { context: "us" });
        await world.clock.advance(6 * 0.03 + 0.06 + 6 * 0.01);
        const run = await world.finish(running);
        expect(order).toEqual([...of(SIX, "before"), ...of(SIX, "after")]);
        expect(busy.peak("run_1 0")).toBe(1);
        expect(outcomes(run)).toEqual(SIX.map((id) => `${id} ok: done`));
      },
    );
  }

  report(
    "C53: two runs below are asked about while their callers are in flight, each in its own order",
    { starts: { work: 4 } },
    async (world) => {
      const { hook, order, busy } = slowHook(world);
      const below = agent("below", { tools: ["work"] });
      const input = { type: "object" };
      const sub = agentTool(below, { name: "sub", description: "", input, toInput: () => "Go." });
      const pair = () => asked(["x", "y"]);
      const provider = ScriptedProvider.byAgent({
        planner: [asked(["a", "b"], "sub"), say("ok")],
        below: [pair, pair, say("ok"), say("ok")],
      });
      const work = world.tool("work", () => "done");
      const runner = world.runner(provider, [work], { hooks: [hook], concurrency: { maxConcurrentTools: 2 } });
      const running = world.run(runner, agent("planner", { tools: [sub] }), "Go.", { context: "us" });
      await world.clock.advance(2 * 0.03 + 2 * 0.03 + 2 * 0.01 + 2 * 0.01);
      await world.finish(running);
      for (const [path, ids] of [
        ["0", ["a", "b"]],
        ["0/1.0", ["x", "y"]],
        ["0/1.1", ["x", "y"]],
      ] as const) {
        expect(order.filter((line) => line.startsWith(`${path} `))).toEqual([
          ...of(ids, "before", path),
          ...of(ids, "after", path),
        ]);
        expect(busy.peak(`run_1 ${path}`)).toBe(1);
      }
      expect(busy.peak()).toBe(2);
    },
  );

  report(
    "C53: a hook that is stuck in one run is asked in another all the same",
    { starts: { work: 2 } },
    async (world) => {
      const beforeTool = (_: GateCall, { runId }: GateContext) =>
        runId === "stuck" ? world.gate.wait("hook").then(() => {}) : undefined;
      const provider = new ScriptedProvider(asked(["a"]), asked(["a"]), say("ok"), say("ok"));
      const runner = world.runner(provider, [world.tool("work", () => "done")], { hooks: [{ name: "h", beforeTool }] });
      const stuck = world.run(runner, agent("planner"), "Go.", { runId: "stuck" });
      await world.clock.promptly(world.gate.arrived("hook"));
      expect((await world.clock.promptly(world.run(runner))).status).toBe("completed");
      expect(world.gate.waiting).toEqual(["hook"]);
      expect((await world.finish(stuck)).status).toBe("completed");
    },
  );

  report(
    "C53: a hook that runs an agent itself is asked about the calls of that run while it waits",
    { starts: { work: 1, look: 1 } },
    async (world) => {
      const seen: string[] = [];
      const checker = agent("checker", { tools: ["look"] });
      const beforeTool = async ({ name }: GateCall) => {
        seen.push(`asked about ${name}`);
        if (name !== "work") return;
        seen.push((await (world.run(runner, checker) as ReturnType<AgentRunner["run"]>)).status);
      };
      const provider = ScriptedProvider.byAgent({
        planner: [calls({ id: "a", name: "work" }), say("ok")],
        checker: [calls({ id: "b", name: "look" }), say("ok")],
      });
      const tools = ["work", "look"].map((name) => world.tool(name, () => "done"));
      const concurrency = { maxConcurrentTools: 1, perTenant: 1 };
      const runner: AgentRunner = world.runner(provider, tools, { hooks: [{ name: "h", beforeTool }], concurrency });
      await world.finish(world.run(runner));
      expect(seen).toEqual(["asked about work", "asked about look", "completed"]);
    },
  );
});
