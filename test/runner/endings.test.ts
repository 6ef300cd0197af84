import { type Guardrail, LanekeeperError, type RunnerOptions } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, outcomes, setUp, takes, tool, untilStopped } from "./setting.ts";

/** One call that has resolved, one in flight of each kind, one that waits for a lane, one for a later phase, a bad one. */
const MIXED = calls(
  { id: "a", name: "quick" },
  { id: "b", name: "lookup" },
  { id: "c", name: "book" },
  { id: "d", name: "book" },
  { id: "e", name: "nowhere" },
  { id: "f", name: "alone" },
);

const stopped = (why: string): string[] => [
  "a ok: done",
  `b error: stopped in flight: ${why}. Safe to call again.`,
  `c indeterminate: stopped in flight: ${why}. The side effect may have landed.`,
  `d never_dispatched: never dispatched: ${why}`,
  'e error: no tool is named "nowhere"; the tools are "quick", "lookup", "book", "alone"',
  `f never_dispatched: never dispatched: ${why}`,
];

function mixed(options: RunnerOptions = {}) {
  const provider = new ScriptedProvider(MIXED);
  const tools = [
    tool("quick", () => "done"),
    tool("lookup", untilStopped, { idempotent: true }),
    tool("book", untilStopped),
    tool("alone", () => "never", { parallelSafe: false }),
  ];
  return { provider, ...setUp(provider, tools, { concurrency: { perTool: { book: 1 } }, ...options }) };
}

describe("Semantics 2.4, 8: every call has exactly one result, in every ending of the run", () => {
  it("cancelled by its signal", async () => {
    const { runner, provider, clock } = mixed();
    const controller = new AbortController();
    const leaks = leakCheck(runner, { clock, provider, signal: controller.signal });
    const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
    await clock.settle();
    controller.abort(new Error("enough"));
    const run = await clock.promptly(running);
    expect(run.status).toBe("cancelled");
    expect(errorOf(run)).toMatchObject({ code: "CANCELLED", cause: new Error("enough") });
    expect(outcomes(run)).toEqual(stopped("the run was cancelled"));
    expect(run.messages).toHaveLength(8);
    expect(faults(run)).toEqual([]);
    await leaks.done();
  });

  it("ended by a deadline", async () => {
    const { runner, provider, clock } = mixed({ deadlines: { runSeconds: 2 } });
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(2);
    const run = await clock.promptly(running);
    expect(errorOf(run)).toMatchObject({ code: "DEADLINE_EXCEEDED", deadline: "runSeconds", seconds: 2 });
    expect(outcomes(run)).toEqual(stopped("deadlines.runSeconds: the run took longer than 2 s"));
    expect(faults(run)).toEqual([]);
    await leaks.done();
  });

  it("ended by a failing sibling under fail_run", async () => {
    const provider = new ScriptedProvider(
      calls(
        { id: "a", name: "quick" },
        { id: "b", name: "book" },
        { id: "c", name: "breaks" },
        { id: "d", name: "book" },
      ),
    );
    const { runner, clock } = setUp(
      provider,
      [
        tool("quick", () => "done"),
        tool("book", untilStopped),
        tool("breaks", async (_, ctx) => {
          await takes(1)({}, ctx);
          throw new Error("broken");
        }),
      ],
      { concurrency: { perTool: { book: 1 } } },
    );
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner", { onToolError: "fail_run" }), "Go.");
    await clock.advance(1);
    const run = await clock.promptly(running);
    const why = "a sibling failed: breaks failed: broken";
    expect(errorOf(run)).toMatchObject({ code: "TOOL_FAILED", message: "breaks failed: broken" });
    expect(outcomes(run)).toEqual([
      "a ok: done",
      `b indeterminate: stopped in flight: ${why}. The side effect may have landed.`,
      "c error: breaks failed: broken",
      `d never_dispatched: never dispatched: ${why}`,
    ]);
    expect(faults(run)).toEqual([]);
    await leaks.done();
  });

  it("ended by a guardrail, before a call and after one", async () => {
    const ends = { endRun: "no bookings today" };
    const before: Guardrail = { name: "hours", before: ({ name }) => (name === "book" ? ends : undefined) };
    const after: Guardrail = { name: "hours", after: ({ name }) => (name === "book" ? ends : undefined) };
    for (const [guardrail, expected] of [
      [before, ["a never_dispatched", "b never_dispatched", "c never_dispatched"]],
      [after, ["a ok", "b error", "c ok"]],
    ] as const) {
      const provider = new ScriptedProvider(
        calls({ id: "a", name: "quick" }, { id: "b", name: "book" }, { id: "c", name: "quick" }),
      );
      const tools = [tool("quick", () => "done"), tool("book", () => "booked")];
      const { runner, clock } = setUp(provider, tools, { guardrails: [guardrail] });
      const leaks = leakCheck(runner, { clock, provider });
      const run = await clock.promptly(runner.run(agent("planner"), "Go."));
      expect(errorOf(run)).toMatchObject({ code: "GUARDRAIL_VIOLATION", guardrail: "hours" });
      expect(run.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual(expected);
      expect(faults(run)).toEqual([]);
      await leaks.done();
    }
  });

  it("a result that was not checked when the run ended is kept whole, and not shown to a model", async () => {
    const guardrail: Guardrail = {
      name: "leaks",
      after: ({ name }) => (name === "book" ? { endRun: "leak" } : undefined),
    };
    const provider = new ScriptedProvider(calls({ id: "a", name: "book" }, { id: "b", name: "quick" }));
    const { runner } = setUp(provider, [tool("quick", () => "secret"), tool("book", () => "booked")], {
      guardrails: [guardrail],
    });
    const run = await runner.run(agent("planner"), "Go.");
    expect(run.results[1]).toMatchObject({ status: "ok", value: "secret" });
    expect(JSON.stringify(run.messages)).not.toContain("secret");
  });

  it("failed by the provider in a later turn: what finished before is kept", async () => {
    const provider = new ScriptedProvider(calls({ id: "a", name: "quick" }), new Error("overloaded"));
    const { runner, clock } = setUp(provider, [tool("quick", () => "done")]);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await runner.run(agent("planner"), "Go.");
    expect(errorOf(run)).toMatchObject({
      code: "PROVIDER",
      message: "scripted: overloaded",
      cause: new Error("overloaded"),
    });
    expect(LanekeeperError.is(errorOf(run))).toBe(true);
    expect(outcomes(run)).toEqual(["a ok: done"]);
    expect(run.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(run.usage.totalTokens).toBe(2);
    await leaks.done();
  });

  it("a run asked for with an aborted signal asks no model and no person", async () => {
    const provider = new ScriptedProvider();
    const signal = AbortSignal.abort("never mind");
    const { runner, clock } = setUp(provider, []);
    const leaks = leakCheck(runner, { clock, provider, signal });
    const run = await clock.promptly(runner.run(agent("planner"), "Go.", { signal }));
    expect(errorOf(run)).toMatchObject({ code: "CANCELLED", cause: "never mind" });
    expect(run.messages).toEqual([{ role: "user", content: "Go." }]);
    expect(run.events.map(({ kind }) => kind)).toEqual(["run_started", "run_cancelled"]);
    await leaks.done();
  });

  it("the first reason to stop wins", async () => {
    const { runner, provider, clock } = mixed({ deadlines: { runSeconds: 1 } });
    const controller = new AbortController();
    const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
    await clock.settle();
    controller.abort();
    await clock.advance(1);
    const run = await running;
    expect(run.status).toBe("cancelled");
    provider.assertFinished();
  });
});
