import { AgentRunner, MemoryJournal } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { about, approve, payments, pendingOf, setUpPlanner } from "./resuming.ts";
import { tool } from "./setting.ts";

const circle: Record<string, unknown> = {};
circle.self = circle;
const hostile = {
  get approve(): boolean {
    throw new Error("read me not");
  },
};

const NO_DECISIONS: [unknown, string][] = [
  [undefined, "resume.decisions"],
  [null, "resume.decisions"],
  ["approve", "resume.decisions"],
  [true, "resume.decisions"],
  [[], "resume.decisions"],
  [{}, "{ approve: true, args? }"],
  [{ approve: "yes" }, "{ approve: true, args? }"],
  [{ approve: undefined }, "{ approve: true, args? }"],
  [{ aprove: true }, "aprove"],
  [{ suspend: false }, "{ suspend: true }"],
  [{ approve: true, result: 5 }, "{ result }"],
  [{ approve: false, suspend: true }, "{ suspend: true }"],
  [{ approve: false, reason: 5 }, "reason"],
  [{ approve: true, args: () => {} }, "args"],
  [{ result: circle }, "plain JSON"],
  [{ result: () => {} }, "plain JSON"],
  [{ result: Symbol("s") }, "plain JSON"],
  [hostile, "resume.decisions"],
];

describe("Semantics 3.6: what is no decision about a call that waits is an error that changes nothing", () => {
  it("the run waits on after each, and can be resumed", async () => {
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }, { id: "b", name: "sign" }), say("done"));
    const { pay, ran } = payments();
    const { runner, clock, heard, planner } = setUpPlanner(provider, [pay, tool("sign")]);
    const leaks = leakCheck(runner, { clock, provider });
    const first = await runner.run(planner, "Go.");
    const [a, b] = pendingOf(first).map(({ id }) => id) as [string, string];
    const told = heard.length;
    const refused = async (decisions: unknown, said: string): Promise<void> => {
      await expect(runner.resume(first.id, { decisions } as never)).rejects.toMatchObject({
        code: "CONFIGURATION",
        message: expect.stringContaining(said),
      });
    };
    for (const [decision, said] of NO_DECISIONS) {
      // One that is right beside it does not count either.
      await refused({ [a]: approve, [b]: decision }, said);
      if (decision !== undefined) await refused({ [a]: decision }, said);
    }
    await refused({ [b]: approve }, "the tool has no body");
    await refused({ [a]: approve, "run_1/0/1.7": approve }, `those that wait are ${a}, ${b}`);
    await refused({ [a]: approve, __proto__x: approve, constructor: approve }, "expected the id");
    await refused([approve], "resume.decisions");
    await refused("all", "resume.decisions");
    expect(ran).toEqual([]);
    expect(heard).toHaveLength(told);
    const waiting = [];
    for await (const call of runner.pending()) waiting.push(call);
    expect(waiting).toEqual(pendingOf(first));
    const last = await runner.resume(first.id, { decisions: { [a]: approve, [b]: { result: 1 } } });
    expect(last.status).toBe("completed");
    expect(ran).toHaveLength(1);
    await leaks.done();
  });

  it("so are bad options and ids of runs that nobody knows", async () => {
    const { runner } = setUpPlanner(new ScriptedProvider(), []);
    const bad: [unknown, unknown, string][] = [
      ["", {}, "resume runId"],
      [undefined, {}, "resume runId"],
      [7, {}, "resume runId"],
      ["run_1", null, "resume"],
      ["run_1", { decision: {} }, "decision"],
      ["run_1", { signal: 5 }, "resume.signal"],
      ["run_1", { onEvent: "log" }, "resume.onEvent"],
      ["run_1", {}, "run_1"],
      ["__proto__", {}, "__proto__"],
    ];
    for (const [id, options, said] of bad) {
      await expect(runner.resume(id as string, options as never)).rejects.toMatchObject({
        code: "CONFIGURATION",
        message: expect.stringContaining(said),
      });
    }
    for (const filter of [{ tenants: "acme" }, { tenant: 5 }, null]) {
      expect(() => runner.pending(filter as never)).toThrow(expect.objectContaining({ code: "CONFIGURATION" }));
    }
  });

  it("a run that completed, failed or was cancelled waits for nobody", async () => {
    const provider = new ScriptedProvider(say("done"), new Error("overloaded"), say("never"));
    const { runner, planner } = setUpPlanner(provider, []);
    const aborted = AbortSignal.abort();
    for (const options of [{}, {}, { signal: aborted }]) {
      const { id, status } = await runner.run(planner, "Go.", options);
      expect(status).not.toBe("suspended");
      await expect(runner.resume(id)).rejects.toMatchObject({ code: "CONFIGURATION" });
    }
  });

  it("an agent that is not among `agents`, and a runner that was closed, are said before anything changes", async () => {
    const provider = new ScriptedProvider(calls({ pay: {} }), say("done"));
    const { pay } = payments();
    const journal = new MemoryJournal();
    const { runner, planner } = setUpPlanner(provider, [pay], { journal });
    const first = await runner.run(planner, "Go.");
    const decisions = about(first, approve);
    const stranger = new AgentRunner({ provider, tools: [pay], journal });
    await expect(stranger.resume(first.id, { decisions })).rejects.toMatchObject({
      code: "CONFIGURATION",
      message: expect.stringMatching(/runner\.agents: .*planner/),
    });
    const closed = new AgentRunner({ provider, tools: [pay], agents: [planner], journal });
    await closed.close();
    await expect(closed.resume(first.id, { decisions })).rejects.toMatchObject({
      code: "CONFIGURATION",
      message: expect.stringContaining("closed"),
    });
    expect((await runner.resume(first.id, { decisions })).status).toBe("completed");
  });

  it("the id of a run that waits is taken", async () => {
    const provider = new ScriptedProvider(calls({ pay: {} }), say("done"), say("again"));
    const { runner, planner } = setUpPlanner(provider, [payments().pay]);
    const first = await runner.run(planner, "Go.", { runId: "trip" });
    await expect(runner.run(planner, "Go.", { runId: "trip" })).rejects.toMatchObject({
      code: "CONFIGURATION",
      message: expect.stringContaining("run.runId"),
    });
    await runner.resume("trip", { decisions: about(first, approve) });
    expect((await runner.run(planner, "Go.", { runId: "trip" })).status).toBe("completed");
  });
});
