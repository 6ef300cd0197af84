import { type AgentRunner, agentTool, type RunnerOptions, type ToolContext } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, outcomes, tool } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";
import { WAYS_TO_STOP } from "./ways-to-stop.ts";

/** Bodies of `hold` wait until they are told to stop, those of `sub` run the agent of the next level. */
function levels(world: ReportWorld) {
  const signals = new Map<string, AbortSignal>();
  const hold = world.tool("hold", (_, { callId, signal }) => {
    signals.set(callId, signal);
    return world.gate.wait(callId, { signal });
  });
  const below: { signal?: AbortSignal } = {};
  const level = (depth: number) => agent(`level${depth}`, { tools: ["hold", "sub"] });
  const sub = world.tool(
    "sub",
    async (_, ctx) => {
      signals.set(ctx.callId, ctx.signal);
      return outcomes(await ctx.run(level(ctx.depth + 1), "Go.", below)).join();
    },
    { isCaller: true },
  );
  return { signals, tools: [hold, sub], level, below };
}

/** What each signal that has aborted says of it. */
const said = (signals: ReadonlyMap<string, AbortSignal>) =>
  Object.fromEntries([...signals].flatMap(([id, { aborted, reason }]) => (aborted ? [[id, reason as Error]] : [])));

/** A script that goes down to `depth` and holds there. */
const goDown = (depth: number) =>
  Object.fromEntries(
    Array.from({ length: depth + 1 }, (_, at) => [
      `level${at}`,
      [at === depth ? calls({ id: "held", name: "hold" }) : calls({ id: `sub${at}`, name: "sub" })],
    ]),
  );

/** Two calls that hold, `a` and `b`, and a caller `s` above two more, `x` and `y`. */
function family(world: ReportWorld, options: RunnerOptions = {}, last: readonly string[] = ["level0", "level1"]) {
  const { level, tools, signals, below } = levels(world);
  const hold = (id: string) => ({ id, name: "hold" });
  const ends = (name: string) => (last.includes(name) ? [say("ok")] : []);
  const provider = ScriptedProvider.byAgent({
    level0: [calls(hold("a"), hold("b"), { id: "s", name: "sub" }), ...ends("level0")],
    level1: [calls(hold("x"), hold("y")), ...ends("level1")],
  });
  return { runner: world.runner(provider, tools, options), level, signals, below };
}

const FAMILY = { hold: 4, sub: 1 };

describe("Semantics 4.6, 7.2, 8: a stop reaches the bodies it is for at once, at any depth, and says what it was", () => {
  for (const way of WAYS_TO_STOP) {
    for (const depth of [0, 1, 2]) {
      report(
        `C67: ${way.name} is heard by a body ${depth} runs down and by its callers, with the run's own error`,
        { starts: depth === 0 ? { hold: 1 } : { hold: 1, sub: depth } },
        async (world) => {
          const { level, tools, signals } = levels(world);
          const runner = world.runner(ScriptedProvider.byAgent(goDown(depth)), tools, way.options);
          const { running, stop } = way.start(world, runner, level(0));
          await world.clock.promptly(world.gate.arrived("held"));
          expect(said(signals)).toEqual({});
          const stopping = stop();
          if (way.name === "its signal") expect(signals.get("held")?.aborted).toBe(true);
          await stopping;
          const run = await world.clock.promptly(running);
          expect(run).toMatchObject(way.ends);
          const { error } = run as { error: Error };
          const callers = Array.from({ length: depth }, (_, at) => [`sub${at}`, error]);
          expect(said(signals)).toEqual(Object.fromEntries([...callers, ["held", error]]));
        },
      );
    }
  }

  for (const how of ["ctx.run", "runner.run", "runner.stream", "an agentTool"]) {
    report(`C67: a run below is told as well when ${how} started it`, { starts: { hold: 1 } }, async (world) => {
      const { level, tools, signals } = levels(world);
      const below = level(1);
      const ways: Record<string, (ctx: ToolContext) => Promise<unknown>> = {
        "ctx.run": (ctx) => ctx.run(below, "Go."),
        "runner.run": () => runner.run(below, "Go."),
        "runner.stream": () => runner.stream(below, "Go.").run,
      };
      const start = ways[how];
      const sub =
        start === undefined
          ? agentTool(below, { name: "other", description: "" })
          : tool("other", (_, ctx) => start(ctx).then(() => "done"));
      const provider = ScriptedProvider.byAgent({
        planner: [calls({ id: "s", name: "other", args: { input: "Go." } })],
        level1: [calls({ id: "held", name: "hold" })],
      });
      const runner: AgentRunner = world.runner(provider, tools);
      const controller = new AbortController();
      const planner = agent("planner", { tools: [sub] });
      const running = world.run(runner, planner, "Go.", { signal: controller.signal });
      await world.clock.promptly(world.gate.arrived("held"));
      controller.abort(new Error("enough"));
      expect(said(signals)).toMatchObject({ held: { code: "CANCELLED", cause: { message: "enough" } } });
      expect((await world.clock.promptly(running)).status).toBe("cancelled");
    });
  }

  report("C67: the deadline of a tool phase is heard by every body, also below", { starts: FAMILY }, async (world) => {
    const { runner, level, signals } = family(world, { deadlines: { toolCallSeconds: 5 } }, []);
    const running = world.run(runner, level(0));
    await world.clock.advance(5);
    expect((await world.finish(running)).status).toBe("failed");
    for (const id of ["a", "b", "s", "x", "y"]) {
      expect(said(signals)[id]).toMatchObject({ code: "DEADLINE_EXCEEDED", deadline: "toolCallSeconds" });
    }
  });

  report(
    "C67: a sibling's failure under fail_run is heard by the others, also below",
    { starts: { ...FAMILY, bad: 1 } },
    async (world) => {
      const { level, tools, signals } = levels(world);
      const bad = world.tool("bad", () => world.gate.wait("bad"));
      const hold = (id: string) => ({ id, name: "hold" });
      const provider = ScriptedProvider.byAgent({
        planner: [calls({ id: "z", name: "bad" }, hold("a"), hold("b"), { id: "s", name: "sub" })],
        level1: [calls(hold("x"), hold("y"))],
      });
      const runner = world.runner(provider, [...tools, bad], { agents: [level(1)] });
      const running = world.run(runner, agent("planner", { onToolError: "fail_run" }));
      await world.clock.promptly(world.gate.arrived("y"));
      world.gate.fail("bad", new Error("broken"));
      const run = await world.clock.promptly(running);
      const { error } = run as { error: Error };
      expect(error.message).toBe("bad failed: broken");
      expect(said(signals)).toEqual({ a: error, b: error, s: error, x: error, y: error });
    },
  );

  report("C67: a tool's ceiling is heard by its own body alone", { starts: FAMILY }, async (world) => {
    // The two below get their ceiling with the first two, and are cut off a second later.
    const { runner, level, signals } = family(world, { concurrency: { perToolSeconds: { hold: 5 } } });
    const running = world.run(runner, level(0));
    await world.clock.advance(4);
    for (const id of ["b", "x", "y"]) world.gate.open(id, "done");
    await world.clock.advance(1);
    await world.finish(running);
    expect(said(signals)).toMatchObject({ a: { code: "TOOL_TIMED_OUT", ceilingSeconds: 5 } });
    expect(Object.keys(said(signals))).toEqual(["a"]);
  });

  report(
    "C67: the ceiling of a caller is heard by it and by what is below it, and by none beside it",
    { starts: FAMILY },
    async (world) => {
      const { runner, level, signals } = family(world, { concurrency: { perToolSeconds: { sub: 5 } } }, ["level0"]);
      const running = world.run(runner, level(0));
      await world.clock.advance(5);
      await world.finish(running);
      expect(Object.keys(said(signals)).sort()).toEqual(["s", "x", "y"]);
      expect(said(signals)).toMatchObject({
        s: { code: "TOOL_TIMED_OUT" },
        x: { code: "CANCELLED" },
        y: { code: "CANCELLED" },
      });
    },
  );

  report(
    "C67: a run below that is stopped by a signal of its own stops no caller",
    { starts: FAMILY },
    async (world) => {
      const { runner, level, signals, below } = family(world, {}, ["level0"]);
      const controller = new AbortController();
      below.signal = world.watch(controller.signal);
      const running = world.run(runner, level(0));
      await world.clock.promptly(world.gate.arrived("y"));
      controller.abort(new Error("the child's own"));
      await world.clock.settle();
      expect(Object.keys(said(signals)).sort()).toEqual(["x", "y"]);
      expect(said(signals).x).toMatchObject({ code: "CANCELLED", cause: { message: "the child's own" } });
      expect((await world.finish(running)).status).toBe("completed");
    },
  );

  report(
    "C67: a body that goes out after a resume hears the signal of the resume, and that of the first run no more",
    { starts: { hold: 1 } },
    async (world) => {
      const signals = new Map<string, AbortSignal>();
      const hold = world.tool(
        "hold",
        (_, { callId, signal }) => {
          signals.set(callId, signal);
          return world.gate.wait(callId, { signal });
        },
        { requiresApproval: true },
      );
      const runner = world.runner(new ScriptedProvider(calls({ id: "a", name: "hold" })), [hold], {
        agents: [agent("planner")],
      });
      const [first, second] = [new AbortController(), new AbortController()];
      const run = await world.clock.promptly(world.run(runner, agent("planner"), "Go.", { signal: first.signal }));
      const decisions = { [run.status === "suspended" ? (run.pending[0]?.id ?? "") : ""]: { approve: true } as const };
      const resumed = world.keep(
        runner.resume(run.id, { decisions, signal: world.watch(second.signal) }) as Promise<typeof run>,
      );
      await world.clock.promptly(world.gate.arrived("a"));
      first.abort();
      expect(said(signals)).toEqual({});
      second.abort(new Error("enough"));
      expect(said(signals)).toMatchObject({ a: { code: "CANCELLED", cause: { message: "enough" } } });
      expect((await world.finish(resumed)).status).toBe("cancelled");
    },
  );
});
