import { calls, Gate, leakCheck, ScriptedProvider } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, kinds, outcomes, setUp, tool } from "./setting.ts";

const THREE = calls({ id: "a", name: "work" }, { id: "b", name: "work" }, { id: "c", name: "work" });
const planner = agent("planner", { onToolError: "fail_run" });

function working(script = THREE) {
  const gate = new Gate<string>();
  const provider = new ScriptedProvider(script);
  return {
    gate,
    provider,
    ...setUp(provider, [tool("work", (_, { callId, signal }) => gate.wait(callId, { signal }))]),
  };
}

describe("Semantics 7.1: under fail_run a failing call ends the run with its failure", () => {
  it("siblings are stopped at once, and the run does not ask the model again", async () => {
    const { runner, clock, provider, gate } = working();
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(planner, "Go.");
    await clock.promptly(gate.arrived("c"));
    gate.open("a", "done");
    gate.fail("b", new Error("broken"));
    const run = await clock.promptly(running);
    expect(errorOf(run)).toBe(run.results[1]?.error);
    expect(outcomes(run)).toEqual([
      "a ok: done",
      "b error: work failed: broken",
      "c indeterminate: stopped in flight: a sibling failed: work failed: broken. The side effect may have landed.",
    ]);
    expect(faults(run)).toEqual([]);
    expect(kinds(run.events).slice(-2)).toEqual(["batch_resolved", "run_failed"]);
    await leaks.done();
  });

  it("of several that fail in one tick the first in call order names the run's error", async () => {
    const { runner, clock, provider, gate } = working();
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(planner, "Go.");
    await clock.promptly(gate.arrived("c"));
    gate.fail("c", new Error("third"));
    gate.fail("b", new Error("second"));
    const run = await clock.promptly(running);
    expect(errorOf(run).message).toBe("work failed: second");
    expect(outcomes(run).slice(1)).toEqual(["b error: work failed: second", "c error: work failed: third"]);
    await leaks.done();
  });

  it("a bad call is a failure too, and then nothing of the batch goes out", async () => {
    const { runner, clock, provider, gate } = working(calls({ id: "a", name: "work" }, { id: "b", name: "nowhere" }));
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(planner, "Go."));
    expect(errorOf(run)).toMatchObject({ code: "TOOL_NOT_FOUND" });
    expect(run.results.map(({ status }) => status)).toEqual(["never_dispatched", "error"]);
    expect(gate.arrivals).toEqual([]);
    await leaks.done();
  });

  it("the run's error is the failure's, also when the caller cancels afterwards", async () => {
    const { runner, clock, gate } = working();
    const controller = new AbortController();
    const running = runner.run(planner, "Go.", { signal: controller.signal });
    await clock.promptly(gate.arrived("c"));
    gate.fail("a", new Error("broken"));
    await clock.settle();
    controller.abort();
    expect((await running).status).toBe("failed");
  });

  it("by default each failure goes to the model under its own call id", async () => {
    const { runner, clock, provider, gate } = working();
    const running = runner.run(agent("planner"), "Go.");
    await clock.promptly(gate.arrived("c"));
    gate.fail("a", new Error("broken"));
    gate.fail("b", "text");
    gate.open("c", "done");
    const run = await clock.promptly(running);
    expect(provider.requests).toHaveLength(2);
    expect(outcomes(run)).toEqual(["a error: work failed: broken", "b error: work failed: text", "c ok: done"]);
  });
});
