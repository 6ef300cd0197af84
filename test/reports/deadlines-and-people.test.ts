import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, errorOf, kinds, outcomes, takes } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

/** Every ceiling that is not the run's own is shorter than the person's answer takes, which is 0.3 s. */
const ceilings = {
  concurrency: { perTool: { pay: 1 }, perToolSeconds: { pay: 0.05, sub: 0.05 }, maxWaitSeconds: 0.1 },
  deadlines: { modelCallSeconds: 0.1, toolCallSeconds: 0.1 },
};

function setUp(world: ReportWorld, runSeconds: number, bodySeconds: number) {
  const pay = world.tool("pay", takes(bodySeconds, "paid"), { requiresApproval: true });
  const below = agent("below", { tools: ["pay"] });
  const sub = world.tool("sub", async (_, ctx) => outcomes(await ctx.run(below, "Go.")).join(), { isCaller: true });
  const approver = () =>
    new Promise<{ approve: true }>((resolve) => void world.clock.setTimer(300, () => resolve({ approve: true })));
  const pays = calls({ id: "a", name: "pay" });
  return {
    pay,
    below,
    sub,
    pays,
    options: { ...ceilings, approver, deadlines: { ...ceilings.deadlines, runSeconds } },
  };
}

describe("Semantics 3.8, 7.2, 7.4: waiting for a person spends no ceiling but the run's own deadline", () => {
  report(
    "C46: an answer that comes within the run's deadline lets the call go out, and it has its whole ceiling",
    { starts: { pay: 1 } },
    async (world) => {
      const { pay, pays, options } = setUp(world, 1, 0.04);
      const running = world.run(world.runner(new ScriptedProvider(pays, say("ok")), [pay], options));
      await world.clock.advance(0.34);
      expect(outcomes(await world.finish(running))).toEqual(["a ok: paid"]);
    },
  );

  report(
    "C46: the ceiling on the body counts from there, and stands as before",
    { starts: { pay: 1 } },
    async (world) => {
      const { pay, pays, options } = setUp(world, 1, 0.06);
      const running = world.run(world.runner(new ScriptedProvider(pays, say("ok")), [pay], options));
      await world.clock.advance(0.35);
      expect(outcomes(await world.finish(running))).toEqual([
        "a error: pay took longer than its ceiling of 0.05 s. The side effect may have landed.",
      ]);
      await world.clock.advance(0.01);
    },
  );

  report(
    "C46: the caller of a run that waits for a person is not timed meanwhile",
    { starts: { pay: 1, sub: 1 } },
    async (world) => {
      const { pay, sub, pays, options } = setUp(world, 1, 0.04);
      const provider = ScriptedProvider.byAgent({
        planner: [calls({ id: "s", name: "sub" }), say("ok")],
        below: [pays, say("ok")],
      });
      const running = world.run(world.runner(provider, [pay, sub], options), agent("planner", { tools: ["sub"] }));
      await world.clock.advance(0.34);
      expect(outcomes(await world.finish(running))).toEqual(["s ok: a ok: paid"]);
    },
  );

  report(
    "C46: the run's deadline ends the wait, and says that it was the deadline and no refusal",
    { starts: {} },
    async (world) => {
      const { pay, pays, options } = setUp(world, 0.2, 0.04);
      const running = world.run(world.runner(new ScriptedProvider(pays), [pay], options));
      await world.clock.advance(0.2);
      const run = await world.finish(running);
      const passed = "deadlines.runSeconds: the run took longer than 0.2 s";
      expect(errorOf(run)).toMatchObject({ code: "DEADLINE_EXCEEDED", message: passed });
      expect(outcomes(run)).toEqual([`a never_dispatched: never dispatched: ${passed}`]);
      expect(run.results[0]?.error).toMatchObject({ code: "TOOL_STOPPED" });
      expect(kinds(run.events)).not.toContain("gate_refused");
      await world.clock.advance(1);
    },
  );

  report("C46: a suspended run spends nothing, however late the decision is", { starts: { pay: 1 } }, async (world) => {
    const { pay, pays, options } = setUp(world, 1, 0.04);
    const { approver: _, ...nobody } = options;
    const runner = world.runner(new ScriptedProvider(pays, say("ok")), [pay], {
      ...nobody,
      agents: [agent("planner")],
    });
    const first = await world.finish(world.run(runner));
    await world.clock.advance(1_000_000);
    const pending = first.status === "suspended" ? first.pending : [];
    const decisions = Object.fromEntries(pending.map(({ id }) => [id, { approve: true } as const]));
    const resumed = world.keep(
      runner.resume(first.id, { decisions }) as typeof first extends infer R ? Promise<R> : never,
    );
    await world.clock.advance(0.04);
    expect(outcomes(await world.finish(resumed))).toEqual(["a ok: paid"]);
  });
});
