import { agentTool, type RunnerOptions } from "lanekeeper";
import { calls, Gate, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { about, approve, payments, pendingOf, verdicts } from "./resuming.ts";
import { agent, errorOf, faults, outcomes, setUp, tool } from "./setting.ts";

/** A run with a call that waits, one below which a payment waits, and one that works until the gate opens. */
function world(options: RunnerOptions = {}) {
  const gate = new Gate<string>();
  const provider = ScriptedProvider.byAgent({
    planner: [
      calls({ id: "a", name: "pay" }, { id: "b", name: "sub", args: { input: "x" } }, { id: "c", name: "work" }),
      say("done"),
    ],
    worker: [calls({ id: "d", name: "pay" }), say("worked")],
  });
  const { pay, ran } = payments();
  const worker = agent("worker", { tools: [pay] });
  const planner = agent("planner", {
    tools: [pay, "work", agentTool(worker, { name: "sub", description: "" })],
    ...(options.agents === undefined ? {} : { onToolError: "fail_run" }),
  });
  const work = tool("work", (_, { signal }) => gate.wait("work", { signal }));
  const made = setUp(provider, [work], { ...options, agents: [planner] });
  return { gate, planner, ran, provider, ...made };
}

describe("Semantics 2.4, 3.7, 8: a stop answers what waits, also what waits below", () => {
  it("cancelled while a sibling works, every call has its verdict and nothing waits any more", async () => {
    const { runner, clock, gate, planner, ran, heard } = world();
    const controller = new AbortController();
    const leaks = leakCheck(runner, { clock, signal: controller.signal });
    const running = runner.run(planner, "Go.", { signal: controller.signal });
    await gate.arrived("work");
    await clock.settle();
    controller.abort();
    const run = await clock.promptly(running);
    expect(run.status).toBe("cancelled");
    expect(outcomes(run)).toEqual([
      "a never_dispatched: never dispatched: the run was cancelled",
      "b indeterminate: stopped in flight: the run was cancelled. The side effect may have landed.",
      "c indeterminate: stopped in flight: the run was cancelled. The side effect may have landed.",
    ]);
    expect(faults(run)).toEqual([]);
    expect(verdicts(heard)).toMatchObject({ "0/1.0": 1, "0/1.1": 1, "0/1.2": 1 });
    expect(ran).toEqual([]);
    await expect(runner.resume(run.id)).rejects.toMatchObject({ code: "CONFIGURATION" });
    await leaks.done();
  });

  it("a deadline does the same", async () => {
    const { runner, clock, gate, planner } = world({ deadlines: { runSeconds: 10 } });
    const running = runner.run(planner, "Go.");
    await gate.arrived("work");
    await clock.advance(10);
    const run = await clock.promptly(running);
    expect(errorOf(run).code).toBe("DEADLINE_EXCEEDED");
    expect(run.results.map(({ status }) => status)).toEqual(["never_dispatched", "indeterminate", "indeterminate"]);
    expect(faults(run)).toEqual([]);
  });

  it("so does a sibling's failure under fail_run", async () => {
    const { runner, clock, gate, planner } = world({ agents: [] });
    const running = runner.run(planner, "Go.");
    await gate.arrived("work");
    await clock.settle();
    gate.fail("work", new Error("broken"));
    const run = await clock.promptly(running);
    expect(errorOf(run).message).toContain("broken");
    expect(run.results.map(({ status }) => status)).toEqual(["never_dispatched", "indeterminate", "error"]);
    expect(faults(run)).toEqual([]);
  });

  it("a resume that is cancelled answers what waited on, and the run has ended", async () => {
    const { runner, clock, gate, planner, ran } = world();
    gate.leaveOpen("worked");
    const first = await clock.promptly(runner.run(planner, "Go."));
    const [, d] = pendingOf(first).map(({ id }) => id) as [string, string];
    const controller = new AbortController();
    controller.abort(new Error("enough"));
    const run = await clock.promptly(
      runner.resume(first.id, { decisions: { [d]: approve }, signal: controller.signal }),
    );
    expect(errorOf(run)).toMatchObject({ code: "CANCELLED", cause: { message: "enough" } });
    expect(run.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual([
      "a never_dispatched",
      "b indeterminate",
      "c ok",
    ]);
    expect(faults(run)).toEqual([]);
    expect(ran).toEqual([]);
    await expect(runner.resume(first.id)).rejects.toMatchObject({ code: "CONFIGURATION" });
  });

  it("a resume that is cancelled in a body tells that one apart from those that never went out", async () => {
    const gate = new Gate();
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }, { id: "b", name: "pay" }));
    const { pay } = payments({
      run: (_: unknown, { signal }: { signal: AbortSignal }) => gate.wait("pay", { signal }),
    });
    const planner = agent("planner");
    const { runner, clock } = setUp(provider, [pay], { agents: [planner], concurrency: { maxConcurrentTools: 1 } });
    const first = await clock.promptly(runner.run(planner, "Go."));
    const controller = new AbortController();
    const leaks = leakCheck(runner, { clock, provider, signal: controller.signal });
    const running = runner.resume(first.id, { decisions: about(first, approve), signal: controller.signal });
    await gate.arrived("pay");
    controller.abort();
    const run = await clock.promptly(running);
    expect(outcomes(run)).toEqual([
      "a indeterminate: stopped in flight: the run was cancelled. The side effect may have landed.",
      "b never_dispatched: never dispatched: the run was cancelled",
    ]);
    await leaks.done();
  });
});
