import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, kinds, outcomes, setUp, tool } from "./setting.ts";

describe("Semantics 2.11: at the turn limit pending calls are answered and the run fails", () => {
  it("runs the calls of the turns before, and none of the last", async () => {
    const provider = new ScriptedProvider(
      calls({ id: "a", name: "search" }),
      calls({ id: "b", name: "search" }, { id: "c", name: "nowhere" }),
    );
    let ran = 0;
    const { runner, clock } = setUp(provider, [tool("search", () => ++ran)]);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner", { maxTurns: 2 }), "Go."));
    expect(errorOf(run)).toMatchObject({ code: "TURN_LIMIT_EXCEEDED", maxTurns: 2 });
    expect(ran).toBe(1);
    const why = "never dispatched: the run's limit of 2 turns was reached";
    expect(outcomes(run)).toEqual(["a ok: 1", `b never_dispatched: ${why}`, `c never_dispatched: ${why}`]);
    expect(run.messages.slice(-2)).toEqual([
      { role: "tool", callId: "b", name: "search", content: why, isError: true },
      { role: "tool", callId: "c", name: "nowhere", content: why, isError: true },
    ]);
    expect(faults(run)).toEqual([]);
    expect(kinds(run.events).slice(-2)).toEqual(["batch_resolved", "run_failed"]);
    await leaks.done();
  });

  it("an answer in the last turn is an answer", async () => {
    const provider = new ScriptedProvider(calls({ search: {} }), say("done"));
    const { runner } = setUp(provider, [tool("search", () => "found")]);
    expect(await runner.run(agent("planner", { maxTurns: 2 }), "Go.")).toMatchObject({ status: "completed" });
  });

  it("is 20 when nothing is declared", async () => {
    const provider = new ScriptedProvider(...Array.from({ length: 20 }, () => calls({ search: {} })));
    const { runner } = setUp(provider, [tool("search", () => "found")]);
    const run = await runner.run(agent("planner"), "Go.");
    expect(errorOf(run)).toMatchObject({ maxTurns: 20 });
    expect(run.results.filter(({ status }) => status === "ok")).toHaveLength(19);
    provider.assertFinished();
  });
});
