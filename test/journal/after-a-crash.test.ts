import type { Reconcile, Reconciled, ToolOptions } from "lanekeeper";
import { calls, Gate, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { answers, verdicts } from "../runner/resuming.ts";
import { agent, errorOf, faults, kinds, outcomes, setUp, tool } from "../runner/setting.ts";
import { afterCrash, WatchedJournal } from "./journals.ts";

const LOST = "outcome unknown: the process that ran it has ended. The side effect may have landed.";

/** A process that dies while `a` has ended, `b` is in flight and `c` waits for its phase. */
async function crashed(declared: Partial<ToolOptions>) {
  const gate = new Gate<string>();
  const journal = new WatchedJournal();
  const controller = new AbortController();
  const keys: string[] = [];
  const write = tool(
    "write",
    (args, { idempotencyKey, signal }) => {
      keys.push(idempotencyKey);
      return gate.wait(String(args.at), { signal });
    },
    declared,
  );
  const planner = agent("planner");
  const provider = new ScriptedProvider(
    calls(
      { id: "a", name: "write", args: { at: "a" } },
      { id: "b", name: "write", args: { at: "b" } },
      { id: "c", name: "alone" },
    ),
  );
  const { runner, clock } = setUp(provider, [write, tool("alone", () => "alone", { parallelSafe: false })], {
    journal,
    agents: [planner],
  });
  const running = runner.run(planner, "Go.", { tenant: "acme", signal: controller.signal });
  await gate.arrived("b");
  await clock.settle();
  const survived = await afterCrash("run_1", await journal.entries("run_1"));
  // The process is gone; here its body must end all the same.
  controller.abort();
  await clock.promptly(running);
  return { survived, keys };
}

/** What the next process makes of it; `declared` is how it declares the tool. */
async function resumed(declared: Partial<ToolOptions>, now: Partial<ToolOptions> = declared) {
  const { survived, keys } = await crashed(declared);
  const ran: string[] = [];
  const reported: unknown[] = [];
  const write = tool(
    "write",
    (args, { idempotencyKey, attempt }) => {
      ran.push(`${idempotencyKey} ${attempt}`);
      return `wrote ${args.at}`;
    },
    now,
  );
  const planner = agent("planner");
  const provider = new ScriptedProvider(say("done"));
  const { runner, clock, heard } = setUp(provider, [write, tool("alone", () => "alone", { parallelSafe: false })], {
    journal: survived,
    agents: [planner],
    onError: (threw) => void reported.push(threw),
  });
  const leaks = leakCheck(runner, { clock, provider });
  const run = await clock.promptly(runner.resume("run_1"));
  await leaks.done();
  expect(run.status).toBe("completed");
  expect(faults(run)).toEqual([]);
  return { run, ran, keys, heard, reported, survived };
}

describe("Semantics 7.6, 11.2: after a crash nothing that is not idempotent is silently run again", () => {
  it("a call without an outcome is run again with the same key when it is idempotent", async () => {
    const { run, ran, keys, heard } = await resumed({ idempotent: true });
    expect(keys).toEqual(["run_1/0/1.0", "run_1/0/1.1"]);
    expect(ran).toEqual(["run_1/0/1.0 2", "run_1/0/1.1 2"]);
    expect(answers(run)).toEqual(["a: wrote a", "b: wrote b", "c: alone"]);
    expect(kinds(heard)[0]).toBe("run_resumed");
    expect(Object.values(verdicts(heard))).toEqual([1, 1, 1]);
  });

  it("else nobody knows: the model is told that it may have landed, and what was never begun goes out", async () => {
    const { run, ran, heard } = await resumed({});
    expect(ran).toEqual([]);
    expect(outcomes(run)).toEqual([`a indeterminate: ${LOST}`, `b indeterminate: ${LOST}`, "c ok: alone"]);
    expect(run.results[0]).toMatchObject({ mayHaveLanded: true, error: { code: "TOOL_INDETERMINATE" } });
    expect(kinds(heard, "a")).toEqual(["tool_indeterminate"]);
    expect(kinds(heard, "c")).toEqual(["tool_dispatched", "tool_completed", "tool_result"]);
  });

  it("the stricter of what was declared then and what is declared now wins", async () => {
    for (const [then, now] of [
      [true, false],
      [false, true],
    ]) {
      const { run, ran } = await resumed({ idempotent: then }, { idempotent: now });
      expect(ran).toEqual([]);
      expect(run.results[0]?.status).toBe("indeterminate");
    }
  });

  it("a tool that can find out is asked once, with the call's arguments and key: landed, not landed, or unknown", async () => {
    const asked: string[] = [];
    const reconcile =
      (answer: (at: unknown) => Reconciled): Reconcile<unknown, unknown> =>
      (args, ctx) => {
        const { at } = args as { at: string };
        asked.push(`${at} ${ctx.idempotencyKey} ${ctx.tenant} ${ctx.callId} ${ctx.tool}`);
        return answer(at);
      };
    const landed = await resumed({ reconcile: reconcile((at) => ({ landed: true, result: `found ${at}` })) });
    expect(asked).toEqual(["a run_1/0/1.0 acme a write", "b run_1/0/1.1 acme b write"]);
    expect(landed.ran).toEqual([]);
    expect(outcomes(landed.run)).toEqual(["a ok: found a", "b ok: found b", "c ok: alone"]);
    const not = await resumed({ reconcile: reconcile((at) => ({ landed: at === "a", result: 0 })) });
    expect(not.ran).toEqual(["run_1/0/1.1 2"]);
    expect(outcomes(not.run)).toEqual(["a ok: 0", "b ok: wrote b", "c ok: alone"]);
    const unknown = await resumed({ reconcile: reconcile(() => ({ landed: "unknown" })) });
    expect(unknown.ran).toEqual([]);
    expect(outcomes(unknown.run).slice(0, 2)).toEqual([`a indeterminate: ${LOST}`, `b indeterminate: ${LOST}`]);
    // What is idempotent need not be asked about.
    asked.length = 0;
    await resumed({ idempotent: true, reconcile: reconcile(() => ({ landed: false })) });
    expect(asked).toEqual([]);
  });

  it("one that throws, or answers nonsense, has found out nothing", async () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const nonsense: (() => unknown)[] = [
      () => Promise.reject(new Error("unreachable")),
      () => {
        throw undefined;
      },
      () => undefined,
      () => null,
      () => true,
      () => "landed",
      () => ({}),
      () => ({ landed: "yes" }),
      () => ({ landed: 1, result: "x" }),
      () => ({
        get landed(): boolean {
          throw new Error("read me not");
        },
      }),
    ];
    for (const reconcile of nonsense) {
      const { run, ran } = await resumed({ reconcile: reconcile as never });
      expect(ran).toEqual([]);
      expect(outcomes(run)).toEqual([`a indeterminate: ${LOST}`, `b indeterminate: ${LOST}`, "c ok: alone"]);
    }
  });

  it("one that says it landed, with a result that has no JSON, has landed: only its answer is lost", async () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const { run, ran } = await resumed({ reconcile: () => ({ landed: true, result: circle }) });
    expect(ran).toEqual([]);
    expect(run.results[0]).toMatchObject({ status: "error", mayHaveLanded: true, error: { code: "TOOL_OUTPUT" } });
  });

  it("whatever stops the resume, a call that was dispatched before it is not told as never dispatched", async () => {
    for (const [idempotent, status, said] of [
      [false, "indeterminate", "stopped in flight: the run was cancelled. The side effect may have landed."],
      [true, "error", "stopped in flight: the run was cancelled. Safe to call again."],
    ] as const) {
      const { survived } = await crashed({ idempotent });
      const planner = agent("planner");
      const { runner, clock } = setUp(
        new ScriptedProvider(),
        [tool("write", () => "again", { idempotent, reconcile: () => new Promise(() => {}) }), tool("alone", () => "")],
        { journal: survived, agents: [planner] },
      );
      const run = await clock.promptly(runner.resume("run_1", { signal: AbortSignal.abort() }));
      expect(errorOf(run).code).toBe("CANCELLED");
      expect(outcomes(run)).toEqual([
        `a ${status}: ${said}`,
        `b ${status}: ${said}`,
        "c never_dispatched: never dispatched: the run was cancelled",
      ]);
    }
  });

  it("nor is one whose tool is gone, or has no place in a turn any more", async () => {
    for (const [tools, limits] of [
      [[], undefined],
      [[tool("write", () => "again")], { maxCallsPerTurn: 1 }],
    ] as const) {
      const { survived } = await crashed({});
      const { runner, clock } = setUp(new ScriptedProvider(say("done")), tools, {
        journal: survived,
        agents: [agent("planner")],
        ...(limits === undefined ? {} : { limits }),
      });
      const run = await clock.promptly(runner.resume("run_1"));
      expect(
        run.results.map(({ callId, status, mayHaveLanded }) => `${callId} ${status} ${mayHaveLanded}`).slice(0, 2),
      ).toEqual(["a indeterminate true", "b indeterminate true"]);
    }
  });
});
