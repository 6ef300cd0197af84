import type { Decision, ToolOptions } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { about, answers, approve, payments, pendingOf, setUpPlanner } from "./resuming.ts";
import { faults, lines, outcomes, tool } from "./setting.ts";

const SUM = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] } as const;

/** A run that waits for one payment of 5, is told one thing about it, and ends. */
async function decided(decision: Decision, declared: Partial<ToolOptions> = {}) {
  const provider = new ScriptedProvider(calls({ id: "a", name: "pay", args: { sum: 5 } }), say("done"));
  const { pay, ran } = payments({ input: SUM, ...declared });
  const { runner, clock, planner } = setUpPlanner(provider, [pay]);
  const leaks = leakCheck(runner, { clock, provider });
  const first = await clock.promptly(runner.run(planner, "Go."));
  const run = await clock.promptly(runner.resume(first.id, { decisions: about(first, decision) }));
  await leaks.done();
  expect(run).toMatchObject({ status: "completed", output: "done", id: first.id });
  expect(faults(run)).toEqual([]);
  return { run, ran };
}

describe("Semantics 2.12, 3.6: a call that waited does what was decided about it", () => {
  it("approved, it runs as it was asked for", async () => {
    const { run, ran } = await decided(approve);
    expect(ran).toEqual([{ args: { sum: 5 }, key: "run_1/0/1.0" }]);
    expect(outcomes(run)).toEqual(["a ok: paid 5"]);
    expect(answers(run)).toEqual(["a: paid 5"]);
  });

  it("approved with edited arguments, it runs with those, and the transcript shows what ran", async () => {
    const { run, ran } = await decided({ approve: true, args: { sum: 3 } });
    expect(ran).toEqual([{ args: { sum: 3 }, key: "run_1/0/1.0" }]);
    expect(outcomes(run)).toEqual(["a ok: paid 3"]);
    expect(run.messages[1]).toMatchObject({ toolCalls: [{ id: "a", args: { sum: 3 } }] });
  });

  it("arguments may be edited as JSON text", async () => {
    const { ran } = await decided({ approve: true, args: '{"sum":2}' });
    expect(ran).toMatchObject([{ args: { sum: 2 } }]);
  });

  it("edited arguments are validated again: what the schema refuses does not run", async () => {
    for (const [args, said] of [
      [{ sum: "much" }, /sum/],
      [{}, /sum/],
      ["no JSON", /JSON/],
      [[5], /object/],
      [null, /arguments/],
    ] as const) {
      const { run, ran } = await decided({ approve: true, args });
      expect(ran).toEqual([]);
      expect(run.results[0]).toMatchObject({ callId: "a", mayHaveLanded: false });
      expect(run.results[0]?.status).not.toBe("ok");
      expect(run.results[0]?.content).toMatch(said);
    }
  });

  it("denied, it never runs, and the model is told why", async () => {
    const { run, ran } = await decided({ approve: false, reason: "too dear" });
    expect(ran).toEqual([]);
    expect(outcomes(run)).toEqual(["a never_dispatched: never dispatched: denied: too dear"]);
    expect(run.results[0]?.error?.code).toBe("TOOL_DENIED");
    expect(run.messages.at(-2)).toMatchObject({ role: "tool", isError: true });
    const { run: unexplained } = await decided({ approve: false });
    expect(outcomes(unexplained)).toEqual(["a never_dispatched: never dispatched: denied: no reason was given"]);
  });

  it("answered in its place, whatever the answer is, it never runs", async () => {
    const said: [unknown, string][] = [
      [false, "false"],
      [0, "0"],
      ["", ""],
      [null, "null"],
      [undefined, ""],
      [{ seats: [1] }, '{"seats":[1]}'],
      [new Date(0), "1970-01-01T00:00:00.000Z"],
      [10n, "10"],
    ];
    for (const [result, content] of said) {
      for (const declared of [{}, { requiresApproval: false, run: undefined }]) {
        const { run, ran } = await decided({ result }, declared);
        expect(ran).toEqual([]);
        expect(outcomes(run)).toEqual([`a ok: ${content}`]);
      }
    }
  });

  it("what becomes of the caller's decisions after the call changes nothing", async () => {
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }), say("done"));
    const { pay, ran } = payments();
    const { runner, planner } = setUpPlanner(provider, [pay]);
    const first = await runner.run(planner, "Go.");
    const decision = { approve: false };
    const decisions = about(first, decision as Decision);
    const resuming = runner.resume(first.id, { decisions });
    decision.approve = true;
    for (const id of Object.keys(decisions)) decisions[id] = approve;
    expect((await resuming).status).toBe("completed");
    expect(ran).toEqual([]);
  });

  it("suspended again, it waits on and can be decided later", async () => {
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }), say("done"));
    const { pay, ran } = payments();
    const { runner, planner } = setUpPlanner(provider, [pay]);
    const first = await runner.run(planner, "Go.");
    const again = await runner.resume(first.id, { decisions: about(first, { suspend: true }) });
    expect(pendingOf(again)).toEqual(pendingOf(first));
    expect(lines(again.events)).toEqual(["0 run_resumed", "0 run_suspended"]);
    expect((await runner.resume(first.id, { decisions: about(again, approve) })).status).toBe("completed");
    expect(ran).toHaveLength(1);
  });

  it("a tool without a body is answered or denied from outside, after its approval when it needs one", async () => {
    const provider = new ScriptedProvider(
      calls({ id: "a", name: "sign" }, { id: "b", name: "sign" }, { id: "c", name: "seal" }),
      say("done"),
    );
    const { runner, planner } = setUpPlanner(provider, [
      tool("sign"),
      tool("seal", undefined, { requiresApproval: true }),
    ]);
    const first = await runner.run(planner, "Go.");
    const [a, b, c] = pendingOf(first).map(({ id }) => id) as [string, string, string];
    expect(pendingOf(first).map(({ reason }) => reason)).toEqual(["external", "external", "approval"]);
    const second = await runner.resume(first.id, {
      decisions: { [a]: { result: "signed" }, [b]: { approve: false, reason: "no" }, [c]: approve },
    });
    expect(pendingOf(second)).toMatchObject([{ id: c, callId: "c", reason: "external" }]);
    const last = await runner.resume(first.id, { decisions: { [c]: { result: "sealed" } } });
    expect(answers(last)).toEqual(["a: signed", "b: never dispatched: denied: no", "c: sealed"]);
  });

  it("calls without a decision wait on, and the others go on without them", async () => {
    const provider = new ScriptedProvider(
      calls(...["a", "b", "c"].map((id, sum) => ({ id, name: "pay", args: { sum } }))),
      say("done"),
    );
    const { pay, ran } = payments();
    const { runner, clock, planner } = setUpPlanner(provider, [pay]);
    const leaks = leakCheck(runner, { clock, provider });
    const first = await runner.run(planner, "Go.");
    const [a, b, c] = pendingOf(first).map(({ id }) => id) as [string, string, string];
    const second = await runner.resume(first.id, { decisions: { [b]: approve } });
    expect(pendingOf(second).map(({ id }) => id)).toEqual([a, c]);
    expect(outcomes(second)).toEqual(["b ok: paid 1"]);
    expect(second.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    const third = await runner.resume(first.id);
    expect(pendingOf(third)).toEqual(pendingOf(second));
    expect(third.results).toEqual(second.results);
    const fourth = await runner.resume(first.id, { decisions: { [c]: { result: "later" }, [a]: approve } });
    expect(answers(fourth)).toEqual(["a: paid 0", "b: paid 1", "c: later"]);
    expect(ran.map(({ args }) => args.sum)).toEqual([1, 0]);
    await leaks.done();
  });

  it("the same decision twice runs nothing twice; another one about the same call changes nothing", async () => {
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }, { id: "b", name: "pay" }), say("done"));
    const { pay, ran } = payments();
    const { runner, planner } = setUpPlanner(provider, [pay]);
    const first = await runner.run(planner, "Go.");
    const [a, b] = pendingOf(first).map(({ id }) => id) as [string, string];
    await runner.resume(first.id, { decisions: { [a]: approve } });
    const same = await runner.resume(first.id, { decisions: { [a]: { approve: true } } });
    expect(pendingOf(same).map(({ id }) => id)).toEqual([b]);
    await expect(
      runner.resume(first.id, { decisions: { [a]: { approve: false }, [b]: approve } }),
    ).rejects.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining(a) });
    expect(ran).toHaveLength(1);
    const last = await runner.resume(first.id, { decisions: { [a]: approve, [b]: approve } });
    expect(last.status).toBe("completed");
    await expect(runner.resume(first.id, { decisions: { [a]: approve } })).rejects.toMatchObject({
      code: "CONFIGURATION",
    });
    expect(ran.map(({ key }) => key)).toEqual([a, b]);
  });
});
