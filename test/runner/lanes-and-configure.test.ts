import { ConcurrencyConfig, Lanes } from "lanekeeper";
import { InProcessLaneStore } from "lanekeeper/lanes";
import { calls, FakeClock, Gate, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, outcomes, setUp, takes, tool } from "./setting.ts";

const many = (count: number) => calls(...Array.from({ length: count }, () => ({ hold: {} })));

describe("Semantics 4.9: lanes() tells what holds and waits, configure() changes bounds while runs go on", () => {
  it("tells per lane who holds it and who waits", async () => {
    const gate = new Gate();
    const provider = new ScriptedProvider(many(3), say("done"));
    const { runner, clock } = setUp(provider, [tool("hold", () => gate.wait("hold"))], {
      concurrency: { perTool: { hold: 1 }, perTenant: 5 },
    });
    const leaks = leakCheck(runner, { clock, provider });
    expect(runner.lanes()).toMatchObject([{ lane: "tool:hold", bound: 1, inFlight: 0, waiting: 0, holders: [] }]);
    const running = runner.run(agent("planner"), "Go.", { tenant: "acme" });
    await clock.promptly(gate.arrived("hold"));
    await clock.advance(2);
    const lanes = Object.fromEntries(runner.lanes().map((lane) => [lane.lane, lane]));
    expect(Object.keys(lanes).sort()).toEqual(["tenant:acme", "tool:hold", "turn:run_1/0/1"]);
    expect(lanes["tool:hold"]).toMatchObject({
      inFlight: 1,
      waiting: 2,
      longestWaitSeconds: 2,
      holders: [{ tool: "hold", callId: "t1_hold_0", tenant: "acme", runId: "run_1", heldSeconds: 2 }],
      blockedOn: { "tool:hold": 2 },
      abandoned: 0,
    });
    expect(lanes["turn:run_1/0/1"]).toMatchObject({ bound: 8, inFlight: 1, waiting: 2 });
    gate.leaveOpen();
    await clock.promptly(running);
    expect(runner.lanes().map(({ lane }) => lane)).toEqual(["tool:hold"]);
    await leaks.done();
  });

  it("raising a bound wakes those who wait at once; lowering it stops nobody", async () => {
    const gate = new Gate();
    const provider = new ScriptedProvider(many(4), say("done"));
    const { runner, clock } = setUp(provider, [tool("hold", () => gate.wait("hold"))], {
      concurrency: new ConcurrencyConfig({ perTool: { hold: 1 } }),
    });
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    await clock.promptly(gate.arrived("hold"));
    runner.configure({ perTool: { hold: 3 } });
    await clock.promptly(gate.arrived("hold", 3));
    runner.configure({ perTool: { hold: 1 } });
    await clock.settle();
    expect(gate.waiting).toHaveLength(3);
    gate.open("hold");
    gate.open("hold");
    await clock.settle();
    expect(gate.arrivals).toHaveLength(3);
    gate.open("hold");
    await clock.promptly(gate.arrived("hold", 4));
    gate.open("hold");
    expect((await clock.promptly(running)).status).toBe("completed");
    await leaks.done();
  });

  it("a ceiling that is changed holds for calls that are dispatched afterwards", async () => {
    const provider = new ScriptedProvider(many(1), many(1), say("done"));
    const { runner, clock } = setUp(provider, [tool("hold", takes(2), { idempotent: true })]);
    clock.autoAdvance = true;
    const running = runner.run(agent("planner"), "Go.", {
      onEvent: ({ kind }) => {
        if (kind === "batch_resolved") runner.configure({ perToolSeconds: { hold: 1 } });
      },
    });
    expect(outcomes(await running)).toEqual([
      "t1_hold_0 ok: done",
      "t2_hold_0 error: hold took longer than its ceiling of 1 s",
    ]);
  });

  it("what could never work is refused, and then nothing has changed", () => {
    const extra = tool("extra", () => "x");
    const { runner } = setUp(new ScriptedProvider(), [tool("hold", () => "x")], {
      agents: [agent("planner", { tools: [extra] })],
      concurrency: { perTool: { hold: 1, extra: 2 } },
    });
    const before = runner.lanes();
    for (const [changes, message] of [
      [
        { perTool: { hold: 5, holds: 2 } },
        "concurrency.perTool.holds: expected the name of a tool; the tools are hold, extra",
      ],
      [
        { perToolSeconds: { nowhere: 2 } },
        "concurrency.perToolSeconds.nowhere: expected the name of a tool; the tools are hold, extra",
      ],
      [{ perTool: { hold: 0 } }, "concurrency.perTool.hold: expected an integer of at least 1, got 0"],
      [{ perTools: {} }, /^concurrency\.perTools: unknown option; expected one of maxConcurrentTools/],
      [null, "concurrency: expected an object, got null"],
    ] as const) {
      expect(() => runner.configure(changes as object)).toThrow(message);
    }
    expect(runner.lanes()).toEqual(before);
    runner.configure({ perTool: { extra: 3 } });
    expect(runner.lanes().map(({ lane, bound }) => [lane, bound])).toEqual([
      ["tool:hold", 1],
      ["tool:extra", 3],
    ]);
  });

  it("lanes given to two runners bound both together", async () => {
    const gate = new Gate();
    const hold = tool("hold", () => gate.wait("hold"));
    const lanes = new Lanes({ perTool: { hold: 2, others: 1 } }, { clock: new FakeClock() });
    const made = [1, 2].map(() => setUp(new ScriptedProvider(many(2), say("done")), [hold], { lanes }));
    const leaks = leakCheck(lanes);
    const running = made.map(({ runner }) => runner.run(agent("planner"), "Go."));
    await made[0]?.clock.promptly(gate.arrived("hold", 2));
    expect(gate.waiting).toHaveLength(2);
    expect(made[0]?.runner.lanes()).toEqual(lanes.snapshot());
    gate.leaveOpen();
    await Promise.all(running);
    await leaks.done();
  });

  it("runners that are given one laneStore hold their bounds together, each with its own order", async () => {
    const gate = new Gate();
    const laneStore = new InProcessLaneStore();
    const setUps = [0, 1].map(() =>
      setUp(new ScriptedProvider(many(2), say("done")), [tool("hold", () => gate.wait("hold"))], {
        concurrency: { perTool: { hold: 3 } },
        laneStore,
      }),
    );
    const running = setUps.map(({ runner }) => runner.run(agent("planner"), "Go."));
    for (const { clock } of setUps) await clock.settle();
    expect(gate.waiting).toHaveLength(3);
    gate.leaveOpen();
    for (const [at, run] of (await Promise.all(running)).entries()) {
      expect([at, run.status, run.results.length]).toEqual([at, "completed", 2]);
    }
  });
});
