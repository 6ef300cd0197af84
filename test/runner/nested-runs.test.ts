import { agentTool, type RunEvent, type RunLike, type ToolContext } from "lanekeeper";
import { calls, Gate, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, kinds, lines, outcomes, setUp, takes, tool, untilStopped } from "./setting.ts";

const WORKER = [calls({ hold: {} }), say("ok")];

/** A planner whose one call starts a worker and then does what `after` says. */
function nesting(after: (nested: Promise<RunLike>, ctx: ToolContext) => unknown, options = {}) {
  const gate = new Gate();
  const provider = ScriptedProvider.byAgent({ planner: [calls({ sub: {} }), say("done")], worker: WORKER.slice(0, 1) });
  const nested: Promise<RunLike>[] = [];
  const worker = agent("worker", { tools: ["hold"] });
  const made = setUp(
    provider,
    [
      tool("hold", (args, ctx) => {
        void gate.wait("hold");
        return untilStopped(args, ctx);
      }),
      tool("sub", (_, ctx) => {
        const run = ctx.run(worker, "Go.");
        nested.push(run);
        return after(run, ctx);
      }),
    ],
    options,
  );
  return { gate, provider, nested: () => nested[0] as Promise<RunLike>, ...made };
}

describe("Semantics 4.6, 8: a caller's verdict cancels the runs below it", () => {
  it("a caller that returns without awaiting", async () => {
    const { runner, clock, provider, nested } = nesting(() => "left it");
    const leaks = leakCheck(runner, { clock });
    const run = await clock.promptly(runner.run(agent("planner", { tools: ["sub"] }), "Go."));
    expect(outcomes(run)).toEqual(["t1_sub_0 ok: left it"]);
    const below = await clock.promptly(nested());
    expect(below.status).toBe("cancelled");
    expect(faults(below)).toEqual([]);
    expect(kinds(run.events)).toContain("run_cancelled");
    expect(provider.requestsOf("planner")).toHaveLength(2);
    await leaks.done();
  });

  it("a caller that outran its ceiling: what was in flight below is told apart", async () => {
    const { runner, clock, provider, nested } = nesting((below) => below, {
      concurrency: { perToolSeconds: { sub: 2 } },
    });
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner", { tools: ["sub"] }), "Go.");
    await clock.advance(2);
    const run = await clock.promptly(running);
    expect(run.results).toMatchObject([
      { status: "error", error: { code: "TOOL_TIMED_OUT", tool: "sub", ceilingSeconds: 2 }, mayHaveLanded: true },
    ]);
    const below = await nested();
    expect(errorOf(below)).toMatchObject({ code: "CANCELLED" });
    expect(outcomes(below)).toEqual([
      "t1_hold_0 indeterminate: stopped in flight: its caller has had its verdict. The side effect may have landed.",
    ]);
    expect(faults(below)).toEqual([]);
    await leaks.done();
  });

  it("a cancelled root: every run below is cancelled for the root's reason, and nobody waits for the bodies", async () => {
    const { runner, clock, provider, nested, gate } = nesting((below) => below);
    const controller = new AbortController();
    const leaks = leakCheck(runner, { clock, signal: controller.signal });
    const running = runner.run(agent("planner", { tools: ["sub"] }), "Go.", { signal: controller.signal });
    await clock.promptly(gate.arrived("hold"));
    controller.abort();
    const run = await clock.promptly(running);
    expect(outcomes(run)).toEqual([
      "t1_sub_0 indeterminate: stopped in flight: the run was cancelled. The side effect may have landed.",
    ]);
    const below = await nested();
    expect(outcomes(below)).toEqual([
      "t1_hold_0 indeterminate: stopped in flight: the run was cancelled. The side effect may have landed.",
    ]);
    expect(kinds(run.events).slice(-2)).toEqual(["batch_resolved", "run_cancelled"]);
    expect(provider.requestsOf("worker")).toHaveLength(1);
    await leaks.done();
  });

  it("the root settles after all that is below it: its events and usage are whole", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: { input: "x" } })],
      worker: [calls({ dig: { input: "x" } })],
      digger: [calls({ hold: {} })],
    });
    const dig = agentTool(agent("digger", { tools: ["hold"] }), { name: "dig", description: "" });
    const sub = agentTool(agent("worker", { tools: [dig] }), { name: "sub", description: "" });
    const { runner, clock, heard } = setUp(provider, [tool("hold", untilStopped)]);
    const controller = new AbortController();
    const leaks = leakCheck(runner, { clock, provider, signal: controller.signal });
    const running = runner.run(agent("planner", { tools: [sub] }), "Go.", { signal: controller.signal });
    await clock.settle();
    controller.abort();
    const run = await clock.promptly(running);
    const ended = (events: readonly RunEvent[]) => lines(events).filter((line) => line.includes("run_cancelled"));
    expect(ended(run.events)).toEqual(["0/1.0/1.0 run_cancelled", "0/1.0 run_cancelled", "0 run_cancelled"]);
    expect(ended(heard)).toEqual(ended(run.events));
    expect(run.usage.totalTokens).toBe(6);
    await leaks.done();
  });

  it("a run that its caller's end reaches at its first event asks no model", async () => {
    const controller = new AbortController();
    const provider = ScriptedProvider.byAgent({ planner: [calls({ sub: { input: "x" } })], worker: [] });
    const sub = agentTool(agent("worker", { tools: [] }), { name: "sub", description: "" });
    const { runner, clock } = setUp(provider, [sub], {
      onEvent: ({ kind, path }) => {
        if (kind === "run_started" && path !== "0") controller.abort();
      },
    });
    const leaks = leakCheck(runner, { clock, provider, signal: controller.signal });
    const run = await clock.promptly(runner.run(agent("planner"), "Go.", { signal: controller.signal }));
    expect(run.status).toBe("cancelled");
    expect(provider.requestsOf("worker")).toEqual([]);
    expect(lines(run.events).filter((line) => line.startsWith("0/1.0"))).toEqual([
      "0/1.0 run_started",
      "0/1.0 run_cancelled",
    ]);
    await leaks.done();
  });

  it("a nested run's own signal stops it alone, and the body reads its ending", async () => {
    const controller = new AbortController();
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: {} }), say("done")],
      worker: WORKER.slice(0, 1),
    });
    const { runner, clock } = setUp(provider, [
      tool("hold", untilStopped),
      tool(
        "sub",
        async (_, ctx) =>
          (await ctx.run(agent("worker", { tools: ["hold"] }), "Go.", { signal: controller.signal })).status,
      ),
    ]);
    const leaks = leakCheck(runner, { clock, provider, signal: controller.signal });
    const running = runner.run(agent("planner", { tools: ["sub"] }), "Go.");
    await clock.settle();
    controller.abort();
    const run = await clock.promptly(running);
    expect(run.status).toBe("completed");
    expect(outcomes(run)).toEqual(["t1_sub_0 ok: cancelled"]);
    await leaks.done();
  });
});

describe("Semantics 4.6: a nested run is its caller's", () => {
  it("it has the caller's tenant; naming another is refused, and so is a run id of its own", async () => {
    const said: unknown[] = [];
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: {} }), say("done")],
      worker: [say("one"), say("two")],
    });
    const made = setUp(provider, [
      tool("sub", async (_, ctx) => {
        const worker = agent("worker", { tools: [] });
        for (const ask of [
          () => ctx.run(worker, "Go."),
          () => ctx.run(worker, "Go.", { tenant: "acme" }),
          () => ctx.run(worker, "Go.", { tenant: "other" }),
          () => made.runner.run(worker, "Go.", { tenant: "other" }),
          () => made.runner.run(worker, "Go.", { runId: "other" }),
        ]) {
          said.push(
            await ask().then(
              (run) => run.id,
              (error) => `${error.code} ${error.message}`,
            ),
          );
        }
      }),
    ]);
    const { runner, clock } = made;
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go.", { tenant: "acme" }));
    expect(run.status).toBe("completed");
    expect(said).toEqual([
      "run_1",
      "run_1",
      'CONFIGURATION run.tenant: expected the caller\'s, "acme", or none, got "other"',
      'CONFIGURATION run.tenant: expected the caller\'s, "acme", or none, got "other"',
      'CONFIGURATION run.runId: expected none in a nested run, which has its caller\'s, got "other"',
    ]);
    const started = run.events.filter(({ kind }) => kind === "run_started");
    expect(started).toMatchObject([
      { path: "0", tenant: "acme" },
      { path: "0/1.0", tenant: "acme" },
      { path: "0/1.0:2", tenant: "acme" },
    ]);
    await leaks.done();
  });

  it("an agent's output is the result of its tool's call; a failed run fails it with the run's error as cause", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [
        calls({ sub: { place: "Kyoto" } }, { sub: { place: "Nara" } }, { sub: { place: "nowhere" } }),
        say("done"),
      ],
      worker: Array.from({ length: 2 }, () => ({ messages }: { messages: { content: unknown }[] }) => {
        if (messages[0]?.content === "Find out about Nara.") throw new Error("overloaded");
        return say("temples");
      }),
    });
    const sub = agentTool(agent("worker", { tools: [] }), {
      name: "sub",
      description: "Research.",
      input: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
      toInput: ({ place }) => (place === "nowhere" ? [] : `Find out about ${place}.`),
    });
    const { runner, clock } = setUp(provider, [sub]);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(outcomes(run)).toEqual([
      "t1_sub_0 ok: temples",
      "t1_sub_1 error: sub failed: scripted: overloaded",
      "t1_sub_2 error: sub failed: input: expected at least one message, got an array of 0",
    ]);
    expect(run.results[1]?.error?.cause).toMatchObject({ code: "PROVIDER" });
    await leaks.done();
  });

  it("one below a call of another runner is told to both, and closing its own runner ends it", async () => {
    const inner = setUp(new ScriptedProvider(calls({ hold: {} })), [tool("hold", untilStopped)]);
    const provider = new ScriptedProvider(calls({ sub: {} }), say("done"));
    const outer = setUp(provider, [tool("sub", async () => (await inner.runner.run(agent("worker"), "Go.")).status)]);
    const leaks = [
      leakCheck(inner.runner, { clock: inner.clock }),
      leakCheck(outer.runner, { clock: outer.clock, provider }),
    ];
    const running = outer.runner.run(agent("planner"), "Go.");
    await outer.clock.settle();
    const below = lines(outer.heard).filter((line) => line.startsWith("0/1.0"));
    expect(below).toContain("0/1.0 tool_dispatched t1_hold_0: dispatched");
    expect(lines(inner.heard)).toEqual(below);
    await inner.clock.promptly(inner.runner.close({ drainSeconds: 0 }));
    expect(outcomes(await outer.clock.promptly(running))).toEqual(["t1_sub_0 ok: cancelled"]);
    for (const leak of leaks) await leak.done();
  });

  it("an agent as a tool says what a call below it may have done", async () => {
    const pay = tool("pay", untilStopped);
    const below = agent("below", { tools: [pay], onToolError: "fail_run" });
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ id: "a", name: "ask", args: { input: "Pay." } }), say("done")],
      below: [calls({ pay: {} })],
    });
    const { runner, clock } = setUp(provider, [agentTool(below, { name: "ask", description: "" })], {
      agents: [below],
      concurrency: { perToolSeconds: { pay: 2 } },
    });
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(2);
    expect(outcomes(await clock.promptly(running))).toEqual([
      "a error: ask failed: pay took longer than its ceiling of 2 s. The side effect may have landed.",
    ]);
  });

  it("what only a run of its own may say is refused in ctx.run", async () => {
    const said: unknown[] = [];
    const sub = tool("sub", async (_, ctx) => {
      for (const options of [{ detached: true }, { runId: "other" }]) {
        await ctx.run(agent("below"), "Go.", options as object).catch((error: Error) => said.push(error.message));
      }
    });
    const provider = new ScriptedProvider(calls({ sub: {} }), say("done"));
    const { runner, clock } = setUp(provider, [sub]);
    await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(said).toEqual([
      "ctx.run.detached: expected none: a detached run is runner.run's, got true",
      'run.runId: expected none in a nested run, which has its caller\'s, got "other"',
    ]);
  });

  it("a deaf body is not abandoned beside a bound of 1 that an agent above it declares", async () => {
    const deaf = tool("deaf", takes(60));
    const below = agent("below", { tools: [deaf] });
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ ask: { input: "a" } }, { ask: { input: "b" } }), say("done")],
      below: [calls({ deaf: {} }), calls({ deaf: {} }), say("done"), say("done")],
    });
    const { runner, clock, heard } = setUp(provider, [agentTool(below, { name: "ask", description: "" })], {
      agents: [below],
      concurrency: { perToolSeconds: { deaf: 1 }, abandonSeconds: 5 },
    });
    void runner.run(agent("planner", { concurrency: { perTool: { deaf: 1 } } }), "Go.");
    await clock.advance(7);
    // The first body keeps the lane; the second call still waits for it.
    const told = heard.flatMap((event) => ("tool" in event && event.tool === "deaf" ? event.kind : []));
    expect(told.filter((kind) => ["tool_dispatched", "tool_overdue", "tool_abandoned"].includes(kind))).toEqual([
      "tool_dispatched",
      "tool_overdue",
    ]);
    await clock.advance(200);
  });
});
