import { agentTool, type DeadlineOptions, type Decision } from "lanekeeper";
import { calls, Deferred, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, kinds, setUp, takes, tool, untilStopped } from "./setting.ts";

const never = () => new Promise<never>(() => {});

describe("Semantics 7.4: deadlines are ceilings on the run, whatever onToolError says", () => {
  for (const [deadline, script] of [
    ["runSeconds", [calls({ work: {} })]],
    ["toolCallSeconds", [calls({ work: {} })]],
    ["modelCallSeconds", [never]],
  ] as const) {
    it(`${deadline} ends the run exactly then, and aborts what is in flight`, async () => {
      const signals: AbortSignal[] = [];
      const provider = new ScriptedProvider(...script);
      const generate = provider.generate.bind(provider);
      provider.generate = (request, call) => {
        signals.push(call.signal);
        return generate(request, call);
      };
      const { runner, clock } = setUp(
        provider,
        [
          tool("work", (args, ctx) => {
            signals.push(ctx.signal);
            return untilStopped(args, ctx);
          }),
        ],
        { deadlines: { [deadline]: 1.5 } },
      );
      const leaks = leakCheck(runner, { clock, provider });
      let settled = false;
      const running = runner.run(agent("planner"), "Go.");
      void running.then(() => {
        settled = true;
      });
      await clock.advance(1.499);
      expect([settled, signals.at(-1)?.aborted]).toEqual([false, false]);
      await clock.advance(0.001);
      const run = await clock.promptly(running);
      expect(errorOf(run)).toMatchObject({ code: "DEADLINE_EXCEEDED", deadline, seconds: 1.5 });
      expect(signals.at(-1)?.aborted).toBe(true);
      expect(faults(run)).toEqual([]);
      expect(kinds(run.events).at(-1)).toBe("run_failed");
      await leaks.done();
    });
  }

  it("each model request and each tool phase has its own time", async () => {
    const slowly = async (_: unknown, { signal }: { signal: AbortSignal }) => {
      await new Promise((resolve) => clock.setTimer(900, () => resolve(signal)));
      return requests++ < 2 ? calls({ work: {} }) : say("done");
    };
    let requests = 0;
    const provider = new ScriptedProvider(slowly, slowly, slowly);
    const { runner, clock } = setUp(provider, [tool("work", takes(0.9))], {
      deadlines: { modelCallSeconds: 1, toolCallSeconds: 1 },
    });
    clock.autoAdvance = true;
    const leaks = leakCheck(runner, { clock, provider });
    expect((await runner.run(agent("planner"), "Go.")).status).toBe("completed");
    expect(clock.monotonic()).toBe(4_500);
    await leaks.done();
  });

  it("toolCallSeconds counts waits in lanes, and does not count people's decisions", async () => {
    const decision = new Deferred<Decision>();
    const provider = new ScriptedProvider(calls({ ask: {} }, { work: {} }, { work: {} }));
    const { runner, clock } = setUp(
      provider,
      [tool("ask", takes(0.5), { requiresApproval: true }), tool("work", takes(1))],
      {
        concurrency: { perTool: { work: 1 } },
        deadlines: { toolCallSeconds: 1.5 },
        approver: () => decision.promise,
      },
    );
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(1_000);
    decision.resolve({ approve: true });
    await clock.advance(1.5);
    const run = await clock.promptly(running);
    expect(errorOf(run)).toMatchObject({ deadline: "toolCallSeconds" });
    expect(run.results.map(({ status }) => status)).toEqual(["ok", "ok", "indeterminate"]);
    await clock.advance(1);
    await leaks.done();
  });

  it("runSeconds is the outermost run's; a nested run that outlives its model request fails its call only", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: { input: "x" } }), say("done")],
      worker: [never],
    });
    const sub = agentTool(agent("worker", { tools: [] }), { name: "sub", description: "" });
    const { runner, clock } = setUp(provider, [sub], { deadlines: { modelCallSeconds: 1, runSeconds: 3 } });
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(1);
    const run = await clock.promptly(running);
    expect(run.status).toBe("completed");
    expect(run.results).toMatchObject([{ status: "error", error: { cause: { code: "DEADLINE_EXCEEDED" } } }]);
    await leaks.done();
  });

  it("is measured on the monotonic clock: setting the machine's clock changes nothing", async () => {
    const provider = new ScriptedProvider(calls({ work: {} }), say("done"));
    const { runner, clock } = setUp(provider, [tool("work", takes(1))], { deadlines: { runSeconds: 2 } });
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    clock.jumpWallClock(1_000_000);
    await clock.advance(1);
    expect((await clock.promptly(running)).status).toBe("completed");
  });

  it("more than 2^31 ms works, Infinity is none, and what is no duration is refused", async () => {
    const provider = new ScriptedProvider(never, never);
    const far = setUp(provider, [], { deadlines: { runSeconds: 2 ** 22 } });
    const running = far.runner.run(agent("planner"), "Go.");
    await far.clock.advance(2 ** 22 - 1);
    await far.clock.advance(1);
    expect(errorOf(await far.clock.promptly(running))).toMatchObject({ seconds: 2 ** 22 });
    const none = setUp(provider, [], {
      deadlines: { runSeconds: Number.POSITIVE_INFINITY, modelCallSeconds: Number.POSITIVE_INFINITY },
    });
    const controller = new AbortController();
    const open = none.runner.run(agent("planner"), "Go.", { signal: controller.signal });
    await none.clock.settle();
    expect(none.clock.pending.foreground).toBe(0);
    controller.abort();
    await open;
    for (const bad of [0, -1, Number.NaN, "5", null]) {
      const deadlines = { modelCallSeconds: bad } as DeadlineOptions;
      expect(() => setUp(provider, [], { deadlines })).toThrow(
        /^deadlines\.modelCallSeconds: expected a number of seconds above 0, or Infinity for none, got /,
      );
    }
  });

  it("a stream that stands still is a model request like any other", async () => {
    const provider = new ScriptedProvider(say("never"));
    provider.stream = async function* () {
      yield { type: "text", text: "Hel" };
      await never();
    };
    const { runner, clock } = setUp(provider, [], { deadlines: { modelCallSeconds: 1 } });
    const leaks = leakCheck(runner, { clock });
    const stream = runner.stream(agent("planner"), "Go.");
    await clock.advance(1);
    expect(errorOf(await clock.promptly(stream.run))).toMatchObject({ deadline: "modelCallSeconds" });
    await leaks.done();
  });

  it("runSeconds of a runner holds for its runs below a call of another runner", async () => {
    const below = setUp(new ScriptedProvider(never), [], { deadlines: { runSeconds: 2 } });
    const ask = tool("ask", async () => (await below.runner.run(agent("below"), "Go.")).status);
    const provider = new ScriptedProvider(calls({ id: "a", name: "ask" }), say("done"));
    const { runner, clock } = setUp(provider, [ask]);
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    await below.clock.advance(2);
    const run = await clock.promptly(running);
    expect(run.results.map(({ content }) => content)).toEqual(["failed"]);
  });
});
