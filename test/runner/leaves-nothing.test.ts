import { agentTool, type Run, type RunEvent, type ToolContext } from "lanekeeper";
import { calls, Deferred, Gate, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, kinds, setUp, takes, tool, untilStopped } from "./setting.ts";

describe("Semantics 2.8: a run leaves nothing behind, and what a settled call left is on its own", () => {
  it("no timer is added when nothing has a limit", async () => {
    const gate = new Gate();
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ research: { input: "x" } }), say("done")],
      researcher: [calls({ search: {} }), say("ok")],
    });
    const research = agentTool(agent("researcher", { tools: ["search"] }), { name: "research", description: "" });
    const { runner, clock } = setUp(provider, [tool("search", () => gate.wait("search")), research]);
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    await clock.promptly(gate.arrived("search"));
    expect(clock.pending).toEqual({ foreground: 0, background: 0 });
    gate.open("search");
    await clock.promptly(running);
    await leaks.done();
  });

  it("with every limit set nothing is left either, whichever way the run ends", async () => {
    for (const ending of ["completes", "is cancelled", "runs out of time"]) {
      const provider = new ScriptedProvider(calls({ work: {} }, { work: {} }, { work: {} }), () => say("done"));
      const { runner, clock } = setUp(provider, [tool("work", ending === "completes" ? takes(1) : untilStopped)], {
        concurrency: { perTool: { work: 2 }, perToolSeconds: { work: 50 }, maxWaitSeconds: 50 },
        deadlines: { runSeconds: 60, modelCallSeconds: 60, toolCallSeconds: 10 },
      });
      const controller = new AbortController();
      const leaks = leakCheck(runner, { clock, signal: controller.signal });
      const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
      await clock.advance(2);
      if (ending === "is cancelled") controller.abort();
      if (ending === "runs out of time") await clock.advance(8);
      const run = await clock.promptly(running);
      expect(run.status).toBe({ completes: "completed", "is cancelled": "cancelled" }[ending] ?? "failed");
      await leaks.done();
    }
  });

  it("one signal may serve many runs at once without a warning", async () => {
    const gate = new Gate();
    const { signal } = new AbortController();
    const { runner, clock } = setUp(
      { name: "s", generate: async ({ messages }) => (messages.length > 1 ? say("ok") : calls({ hold: {} })) },
      [tool("hold", () => gate.wait("hold"))],
    );
    const leaks = leakCheck(runner, { clock, signal });
    const running = Array.from({ length: 30 }, () => runner.run(agent("planner"), "Go.", { signal }));
    await clock.promptly(gate.arrived("hold", 30));
    gate.openAll();
    await clock.promptly(Promise.all(running));
    await leaks.done();
  });

  it("a provider may leave listeners on each request's signal: they do not pile up, and all requests are stopped", async () => {
    const signals: AbortSignal[] = [];
    const script = [...Array.from({ length: 15 }, () => calls({ search: {} })), () => new Promise<never>(() => {})];
    const provider = new ScriptedProvider(...script);
    const generate = provider.generate.bind(provider);
    provider.generate = (request, call) => {
      call.signal.addEventListener("abort", () => {});
      signals.push(call.signal);
      return generate(request, call);
    };
    const { runner, clock } = setUp(provider, [tool("search", () => "found")]);
    const controller = new AbortController();
    const leaks = leakCheck(runner, { clock, provider, signal: controller.signal });
    const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
    await clock.settle();
    controller.abort();
    const error = errorOf(await clock.promptly(running));
    expect(signals.map(({ aborted }) => aborted)).toEqual([...Array(15).fill(false), true]);
    expect(signals.at(-1)?.reason).toBe(error);
    await leaks.done();
  });

  it("after its verdict a call's context is inert: late notes and writes are nothing, and ctx.run is rejected", async () => {
    const late = new Deferred();
    let ctx: ToolContext | undefined;
    const provider = new ScriptedProvider(calls({ slow: {} }), say("done"));
    const { runner, clock, heard } = setUp(
      provider,
      [
        tool("slow", async (_, given) => {
          ctx = given;
          await late.promise;
        }),
      ],
      { concurrency: { perToolSeconds: { slow: 1 } } },
    );
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(1);
    const run = await clock.promptly(running);
    expect(run.status).toBe("completed");
    const told = heard.length;
    ctx?.progress(1);
    ctx?.log("late");
    ctx?.state.set("late", true);
    const nested: Promise<unknown> | undefined = ctx?.run(agent("planner"), "Late.");
    await expect(nested).rejects.toMatchObject({ code: "CONFIGURATION" });
    expect(heard).toHaveLength(told);
    expect(run.state).toEqual({});
    late.resolve();
    await clock.settle();
    await leaks.done();
  });

  it("what a settled call's poller runs is a run of its own", async () => {
    const poll = new Gate();
    const gate = new Gate();
    const polled = new Deferred<Run>();
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ start: {} }), say("done")],
      poller: [calls({ hold: {} }), say("polled")],
    });
    const { runner, clock, heard } = setUp(
      provider,
      [
        tool("start", () => {
          void poll.wait("tick").then(() => polled.resolve(runner.run(agent("poller"), "Poll.", { tenant: "other" })));
        }),
        tool("hold", () => gate.wait("hold")),
      ],
      { concurrency: { perTenant: 1 } },
    );
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(run.status).toBe("completed");
    poll.open("tick");
    await clock.promptly(gate.arrived("hold"));
    expect(runner.lanes().find(({ lane }) => lane === "tenant:other")).toMatchObject({ inFlight: 1, waiting: 0 });
    gate.open("hold");
    expect(await clock.promptly(polled.promise)).toMatchObject({ id: "run_2", status: "completed", output: "polled" });
    expect(new Set(heard.filter(({ runId }) => runId === "run_2").map(({ path }) => path))).toEqual(new Set(["0"]));
    await leaks.done();
  });

  it("what a listener runs is a run of its own, whatever it was told of", async () => {
    const runs: Promise<Run>[] = [];
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ search: {} }), say("done")],
      audit: [say("seen"), say("seen")],
    });
    const note = (event: RunEvent): void => {
      if (event.kind !== "tool_progress") return;
      runs.push(made.runner.run(agent("audit", { tools: [] }), "Note.", { tenant: "audit" }));
    };
    const made = setUp(provider, [tool("search", (_, { progress }) => progress(0.5))], { onEvent: note });
    const leaks = leakCheck(made.runner, { clock: made.clock, provider });
    const run = await made.clock.promptly(made.runner.run(agent("planner"), "Go.", { onEvent: note }));
    expect(run.usage.totalTokens).toBe(4);
    expect(await Promise.all(runs)).toMatchObject([
      { id: "run_2", status: "completed" },
      { id: "run_3", status: "completed" },
    ]);
    await leaks.done();
  });

  it("also what it runs when it is told of a run that is nested in a body", async () => {
    const runs: Promise<Run>[] = [];
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ research: { input: "x" } }), say("done")],
      researcher: [say("found")],
      audit: [say("seen")],
    });
    const note = (event: RunEvent): void => {
      if (event.kind !== "run_completed" || event.path === "0") return;
      runs.push(made.runner.run(agent("audit", { tools: [] }), "Note.", { tenant: "audit" }));
    };
    const research = agentTool(agent("researcher", { tools: [] }), { name: "research", description: "" });
    const made = setUp(provider, [research], { onEvent: note });
    const leaks = leakCheck(made.runner, { clock: made.clock, provider });
    await made.clock.promptly(made.runner.run(agent("planner"), "Go."));
    expect(await Promise.all(runs)).toMatchObject([{ id: "run_2", status: "completed" }]);
    await leaks.done();
  });

  it("what a deaf body runs after its verdict is a run of its own too: nothing is lent to it", async () => {
    const gate = new Gate();
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ deaf: {} }), say("done")],
      worker: [calls({ hold: {} }), say("worked")],
    });
    const made = setUp(
      provider,
      [
        tool("deaf", async () => {
          await gate.wait("deaf");
          return (await made.runner.run(agent("worker"), "Work.")).id;
        }),
        tool("hold", () => gate.wait("hold")),
      ],
      { concurrency: { perTenant: 2, perToolSeconds: { deaf: 1 } } },
    );
    const { runner, clock, heard } = made;
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(1);
    await clock.promptly(running);
    gate.open("deaf");
    await clock.promptly(gate.arrived("hold"));
    const tenant = runner.lanes().find(({ lane }) => lane === "tenant:default");
    expect(tenant?.holders.map((holder) => [holder.tool, holder.runId, holder.borrowedFrom])).toEqual([
      ["deaf", "run_1", undefined],
      ["hold", "run_2", undefined],
    ]);
    gate.open("hold");
    await clock.settle();
    expect(heard.at(-1)).toMatchObject({ kind: "tool_late_result", content: "run_2" });
    await leaks.done();
  });

  it("a detached run inside a body has its own path, tenant and places, and is not stopped with its caller", async () => {
    const gate = new Gate();
    let detached: Promise<Run> | undefined;
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ start: {} })],
      worker: [calls({ hold: {} }), say("worked")],
    });
    const { runner, clock } = setUp(
      provider,
      [
        tool("start", (args, ctx) => {
          detached = runner.run(agent("worker"), "Work.", { detached: true });
          return untilStopped(args, ctx);
        }),
        tool("hold", () => gate.wait("hold")),
      ],
      { concurrency: { perTenant: 2, perTool: { hold: 1 } } },
    );
    const controller = new AbortController();
    const leaks = leakCheck(runner, { clock, provider, signal: controller.signal });
    const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
    await clock.promptly(gate.arrived("hold"));
    // Nobody lends it a place: it stands in the tenant's lane beside the call that started it.
    expect(runner.lanes().find(({ lane }) => lane === "tenant:default")).toMatchObject({
      inFlight: 2,
      holders: [
        { tool: "start", runId: "run_1" },
        { tool: "hold", runId: "run_2" },
      ],
    });
    controller.abort();
    const run = await clock.promptly(running);
    expect(run.status).toBe("cancelled");
    expect(kinds(run.events).filter((kind) => kind === "run_started")).toHaveLength(1);
    expect(run.usage.totalTokens).toBe(2);
    gate.open("hold");
    expect(await clock.promptly(detached as Promise<Run>)).toMatchObject({ id: "run_2", output: "worked" });
    await leaks.done();
  });

  it("what a body throws into a timer of its own is not the run's, and a rejected signal reason is not unheard", async () => {
    const provider = new ScriptedProvider(calls({ work: {} }));
    const { runner, clock } = setUp(provider, [
      tool("work", async (_, { signal }) => {
        await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      }),
    ]);
    const controller = new AbortController();
    const leaks = leakCheck(runner, { clock, provider, signal: controller.signal });
    const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
    await clock.settle();
    controller.abort();
    expect(errorOf(await clock.promptly(running))).toMatchObject({ code: "CANCELLED" });
    await leaks.done();
  });
});
