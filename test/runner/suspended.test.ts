import { calls, leakCheck, ScriptedProvider } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, kinds, outcomes, setUp, tool } from "./setting.ts";

describe("Semantics 2.4, 3.5: a call that waits for somebody outside suspends its run", () => {
  it("what may run runs, and the messages end before the batch's results, which run.results has", async () => {
    const ran: string[] = [];
    const body = (name: string) => () => {
      ran.push(name);
      return `${name} done`;
    };
    const provider = new ScriptedProvider(
      calls(
        { id: "a", name: "search" },
        { id: "b", name: "pay", args: { sum: 5 } },
        { id: "c", name: "search" },
        { id: "d", name: "sign" },
        { id: "e", name: "nowhere" },
      ),
    );
    const { runner, clock } = setUp(provider, [
      tool("search", body("search")),
      tool("pay", body("pay"), { requiresApproval: true }),
      tool("sign"),
    ]);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go.", { tenant: "acme" }));
    if (run.status !== "suspended") throw new Error(run.status);
    const where = { runId: "run_1", path: "0", tenant: "acme", of: 5 };
    expect(run.pending).toEqual([
      { ...where, id: "run_1/0/1.1", callId: "b", tool: "pay", args: { sum: 5 }, reason: "approval", position: 1 },
      { ...where, id: "run_1/0/1.3", callId: "d", tool: "sign", args: {}, reason: "external", position: 3 },
    ]);
    expect(ran).toEqual(["search", "search"]);
    expect(outcomes(run)).toEqual([
      "a ok: search done",
      "c ok: search done",
      expect.stringMatching(/^e error: no tool is named/),
    ]);
    expect(run.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(kinds(run.events).at(-1)).toBe("run_suspended");
    expect(kinds(run.events)).not.toContain("batch_resolved");
    expect("output" in run || "error" in run).toBe(false);
    await leaks.done();
  });

  it("an approver that suspends does the same", async () => {
    const provider = new ScriptedProvider(calls({ pay: {} }));
    const { runner } = setUp(provider, [tool("pay", () => "paid", { requiresApproval: true })], {
      approver: () => ({ suspend: true }),
    });
    expect(await runner.run(agent("planner"), "Go.")).toMatchObject({
      status: "suspended",
      pending: [{ tool: "pay", reason: "approval" }],
      results: [],
    });
  });

  it("one that is not parallel-safe holds back everything the model asked for after it", async () => {
    let ran = 0;
    const provider = new ScriptedProvider(calls({ search: {} }, { pay: {} }, { search: {} }));
    const { runner, clock } = setUp(provider, [
      tool("search", () => ++ran),
      tool("pay", () => "paid", { requiresApproval: true, parallelSafe: false }),
    ]);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(run.status).toBe("suspended");
    expect(outcomes(run)).toEqual(["t1_search_0 ok: 1"]);
    expect(ran).toBe(1);
    await leaks.done();
  });

  it("in a body, a run below that suspends resolves suspended, and the body decides", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: {} }), { ...calls(), content: "done", finishReason: "stop" }],
      worker: [calls({ pay: {} })],
    });
    const { runner, clock } = setUp(provider, [
      tool("pay", () => "paid", { requiresApproval: true }),
      tool("sub", async (_, ctx) => {
        const below = await ctx.run(agent("worker", { tools: ["pay"] }), "Go.");
        return below.status === "suspended" ? below.pending.map(({ id }) => id) : below.status;
      }),
    ]);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(outcomes(run)).toEqual(['t1_sub_0 ok: ["run_1/0/1.0/1.0"]']);
    await leaks.done();
  });

  it("cancelling while calls are pending answers them all: then the transcript is complete", async () => {
    const controller = new AbortController();
    const provider = new ScriptedProvider(calls({ pay: {} }, { hold: {} }));
    const { runner, clock } = setUp(provider, [
      tool("pay", () => "paid", { requiresApproval: true }),
      tool("hold", () => new Promise(() => {}), { idempotent: true }),
    ]);
    const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
    await clock.settle();
    controller.abort();
    const run = await clock.promptly(running);
    expect(run.status).toBe("cancelled");
    expect(outcomes(run)).toEqual([
      "t1_pay_0 never_dispatched: never dispatched: the run was cancelled",
      "t1_hold_1 error: stopped in flight: the run was cancelled. Safe to call again.",
    ]);
    expect(run.messages).toHaveLength(4);
  });

  it("a cancel in the moment of suspending is in time, or too late: nothing in between", async () => {
    const endings: string[] = [];
    for (let microtasks = 0; microtasks < 24; microtasks++) {
      const controller = new AbortController();
      const provider = new ScriptedProvider(calls({ search: {} }, { pay: {} }));
      const { runner, clock } = setUp(
        provider,
        [tool("search", () => "found"), tool("pay", () => "paid", { requiresApproval: true })],
        {
          onEvent: async ({ kind }) => {
            if (kind !== "tool_completed") return;
            for (let turn = 0; turn < microtasks; turn++) await undefined;
            controller.abort();
          },
        },
      );
      const leaks = leakCheck(runner, { clock, provider, signal: controller.signal });
      const run = await clock.promptly(runner.run(agent("planner"), "Go.", { signal: controller.signal }));
      await leaks.done();
      const ending = [run.status, run.results.length, run.messages.length].join(" ");
      if (endings.at(-1) !== ending) endings.push(ending);
    }
    expect(endings).toEqual(["cancelled 2 4", "suspended 1 2"]);
  });
});
