import type { Guardrail, Hook, PendingCall } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { about, answers, approve, payments, pendingOf, setUpPlanner } from "./resuming.ts";
import { kinds, outcomes, tool } from "./setting.ts";

describe("Semantics 3.6: gates that ran are not asked again, and those behind the approval still are", () => {
  it("for each call only what stands behind the place where it waited", async () => {
    const asked: string[] = [];
    const note = (who: string, args: unknown): void => void asked.push(`${who} ${(args as { sum: number }).sum}`);
    const guardrails: Guardrail[] = [
      {
        name: "guard",
        before: ({ args }) => note("guard", args),
        after: ({ args }) => note("guard after", args),
      },
    ];
    const hooks: Hook[] = [
      {
        name: "hook",
        beforeTool: ({ args }) => note("hook", args),
        afterTool: ({ args }) => note("hook after", args),
      },
    ];
    const { pay, ran } = payments({
      requiresApproval: (args) => {
        note("predicate", args);
        return (args as { sum: number }).sum > 1;
      },
    });
    const sums = [1, 2, 3, 4, 5].map((sum) => ({ id: `p${sum}`, name: "pay", args: { sum } }));
    const provider = new ScriptedProvider(calls(...sums), say("done"));
    const { runner, planner, clock } = setUpPlanner(provider, [pay], { guardrails, hooks });
    const leaks = leakCheck(runner, { clock, provider });
    const first = await runner.run(planner, "Go.");
    const before = (sum: number): string[] => [`guard ${sum}`, `predicate ${sum}`];
    const after = (sum: number): string[] => [`guard after ${sum}`, `hook after ${sum}`];
    expect(asked.splice(0)).toEqual([...before(1), "hook 1", ...[2, 3, 4, 5].flatMap(before), ...after(1)]);
    const [p2, p3, p4, p5] = pendingOf(first).map(({ id }) => id) as [string, string, string, string];
    await runner.resume(first.id, {
      decisions: { [p2]: approve, [p3]: { approve: true, args: { sum: 30 } }, [p4]: { result: "free" } },
    });
    expect(asked.splice(0)).toEqual(["hook 2", "hook 30", ...[2, 30, 4].flatMap(after)]);
    const last = await runner.resume(first.id, { decisions: { [p5]: { approve: false, reason: "no" } } });
    expect(asked).toEqual([]);
    expect(answers(last)).toEqual([
      "p1: paid 1",
      "p2: paid 2",
      "p3: paid 30",
      "p4: free",
      expect.stringMatching(/no$/),
    ]);
    expect(ran).toHaveLength(3);
    await leaks.done();
  });

  it("a hook behind the approval may still refuse or rewrite, and a rewritten input is what waits next", async () => {
    const hook: Hook = {
      name: "hook",
      beforeTool: ({ name, id }) => (id === "b" ? { refuse: "closed" } : { args: { rewritten: name } }),
    };
    const provider = new ScriptedProvider(
      calls({ id: "a", name: "pay" }, { id: "b", name: "pay" }, { id: "c", name: "seal" }),
      say("done"),
    );
    const { pay, ran } = payments();
    const seal = tool("seal", undefined, { requiresApproval: true });
    const { runner, planner } = setUpPlanner(provider, [pay, seal], { hooks: [hook] });
    const first = await runner.run(planner, "Go.");
    const second = await runner.resume(first.id, { decisions: about(first, approve) });
    expect(ran).toMatchObject([{ args: { rewritten: "pay" } }]);
    expect(outcomes(second)[1]).toBe("b never_dispatched: never dispatched: denied: closed");
    expect(pendingOf(second)).toMatchObject([{ callId: "c", args: { rewritten: "seal" }, reason: "external" }]);
  });

  it("a guardrail that ends the run behind a resume ends it whole, and the others get their answers", async () => {
    const guardrails: Guardrail[] = [
      { name: "guard", after: ({ id }) => (id === "a" ? { endRun: "leaked" } : undefined) },
    ];
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }, { id: "b", name: "pay" }));
    const { pay } = payments();
    const { runner, planner } = setUpPlanner(provider, [pay], { guardrails });
    const first = await runner.run(planner, "Go.");
    const [a] = pendingOf(first) as [PendingCall];
    const run = await runner.resume(first.id, { decisions: { [a.id]: approve } });
    expect(run).toMatchObject({ status: "failed", error: { code: "GUARDRAIL_VIOLATION" } });
    expect(run.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual(["a error", "b never_dispatched"]);
    expect(answers(run)).toHaveLength(2);
    await expect(runner.resume(first.id)).rejects.toMatchObject({ code: "CONFIGURATION" });
  });

  it("an approver is not asked about a call that waited, but about those of later turns", async () => {
    const asked: string[] = [];
    const provider = new ScriptedProvider(
      calls({ id: "a", name: "pay" }),
      calls({ id: "b", name: "pay" }),
      say("done"),
    );
    const { pay, ran } = payments();
    const { runner, planner } = setUpPlanner(provider, [pay], {
      approver: ({ callId }) => {
        asked.push(callId);
        return callId === "a" ? { suspend: true } : approve;
      },
    });
    const first = await runner.run(planner, "Go.");
    const last = await runner.resume(first.id, { decisions: about(first, approve) });
    expect(last.status).toBe("completed");
    expect(asked).toEqual(["a", "b"]);
    expect(ran).toHaveLength(2);
    expect(kinds(last.events, "b")).toEqual([
      "tool_requested",
      "gate_passed",
      "tool_queued",
      "tool_dispatched",
      "tool_completed",
      "tool_result",
    ]);
  });
});
