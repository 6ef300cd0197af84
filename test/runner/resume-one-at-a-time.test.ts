import { AgentRunner, MemoryJournal } from "lanekeeper";
import { calls, Deferred, Gate, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { WatchedJournal } from "../journal/journals.ts";
import { about, answers, approve, payments, pendingOf, setUpPlanner } from "./resuming.ts";
import { agent, errorOf, faults, setUp } from "./setting.ts";

describe("Semantics 3.6, 11.3: one process works on a run at a time", () => {
  it("a second resume is refused while the first works, on this runner and on others", async () => {
    const gate = new Gate<string>();
    const journal = new MemoryJournal();
    const { pay } = payments({ run: () => gate.wait("pay") });
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }), say("done"));
    const { runner, clock, planner } = setUpPlanner(provider, [pay], { journal });
    const other = new AgentRunner({ provider, tools: [pay], agents: [planner], journal });
    const first = await clock.promptly(runner.run(planner, "Go."));
    const decisions = about(first, approve);
    const both = [runner.resume(first.id, { decisions }), other.resume(first.id, { decisions })];
    await gate.arrived("pay");
    const held = { code: "JOURNAL", held: true, runId: first.id };
    await expect(both[1]).rejects.toMatchObject(held);
    await expect(runner.resume(first.id, { decisions })).rejects.toMatchObject(held);
    const listed = [];
    for await (const call of other.pending()) listed.push(call);
    expect(listed).toEqual([]);
    gate.open("pay", "paid");
    expect(await both[0]).toMatchObject({ status: "completed" });
    expect(gate.arrivals).toEqual(["pay"]);
  });

  it("a run suspended on one runner is resumed on another that shares the journal, as if it were the same", async () => {
    const journal = new MemoryJournal();
    const script = (): ScriptedProvider => new ScriptedProvider(calls({ id: "a", name: "pay", args: { sum: 5 } }));
    const { pay, ran } = payments();
    const planner = agent("planner");
    const one = setUp(script(), [pay], { journal, agents: [planner] });
    const first = await one.runner.run(planner, "Go.", { tenant: "acme", runId: "trip" });
    await one.runner.close();
    const provider = new ScriptedProvider(say("done"));
    const two = setUp(provider, [pay], { journal, agents: [agent("another"), agent("planner")] });
    const leaks = leakCheck(two.runner, { clock: two.clock, provider });
    const waiting = [];
    for await (const call of two.runner.pending({ tenant: "acme" })) waiting.push(call);
    expect(waiting).toEqual(pendingOf(first));
    const run = await two.runner.resume("trip", { decisions: about(first, approve) });
    expect(run).toMatchObject({ status: "completed", id: "trip" });
    expect(ran).toEqual([{ args: { sum: 5 }, key: "trip/0/1.0" }]);
    expect(answers(run)).toEqual(["a: paid 5"]);
    expect(provider.requests[0]?.messages).toEqual(run.messages.slice(0, 3));
    await leaks.done();
  });

  it("whoever lost the run to another records nothing more, starts nothing more and shows a model nothing", async () => {
    const gate = new Gate<string>();
    const journal = new WatchedJournal();
    const { pay } = payments({ requiresApproval: false, run: (args) => gate.wait((args as { at: string }).at) });
    const provider = new ScriptedProvider(
      calls({ id: "a", name: "pay", args: { at: "a" } }, { id: "b", name: "pay", args: { at: "b" } }),
    );
    const { runner, clock, planner } = setUpPlanner(provider, [pay], {
      journal,
      concurrency: { maxConcurrentTools: 1 },
    });
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(planner, "Go.");
    await gate.arrived("a");
    // Another process takes it for dead.
    const { kept } = journal;
    const before = await kept.load("run_1");
    await kept.release({ runId: "run_1", epoch: 1 }, { status: "unchanged" });
    await kept.claim("run_1", "known");
    gate.open("a", "paid a");
    const run = await clock.promptly(running);
    expect(errorOf(run)).toMatchObject({ code: "JOURNAL", held: true });
    expect(gate.arrivals).toEqual(["a"]);
    expect(run.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual(["a ok", "b never_dispatched"]);
    expect(faults(run)).toEqual([]);
    expect(await kept.load("run_1")).toEqual(before);
    await expect(kept.claim("run_1", "known")).rejects.toMatchObject({ held: true });
    await leaks.done();
  });

  it("an id that somebody works on, or that waits, is refused to a new run of another runner", async () => {
    const journal = new MemoryJournal();
    const { pay, ran } = payments();
    const provider = new ScriptedProvider(calls({ pay: {} }), calls({ pay: {} }), say("done"));
    const { runner, planner } = setUpPlanner(provider, [pay], { journal });
    const first = await runner.run(planner, "Go.", { runId: "trip" });
    const other = new AgentRunner({ provider, tools: [pay], agents: [planner], journal });
    const second = await other.run(planner, "Go.", { runId: "trip" });
    expect(errorOf(second)).toMatchObject({ code: "JOURNAL", held: false });
    expect(ran).toEqual([]);
    expect((await other.resume("trip", { decisions: about(first, approve) })).status).toBe("completed");
  });

  it("a second run of its id is refused at the door, while it is at work and while it waits", async () => {
    const { pay } = payments();
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }), say("done"));
    const { runner, planner } = setUpPlanner(provider, [pay]);
    const first = runner.run(planner, "Go.", { runId: "trip" });
    const refused = { code: "CONFIGURATION", message: 'run.runId: expected an id of its own, or none, got "trip"' };
    await expect(runner.run(planner, "Go.", { runId: "trip" })).rejects.toMatchObject(refused);
    const waits = await first;
    await expect(runner.run(planner, "Go.", { runId: "trip" })).rejects.toMatchObject(refused);
    expect((await runner.resume("trip", { decisions: about(waits, approve) })).status).toBe("completed");
  });

  it("a runner that is closed while its journal is asked resumes nothing; one that resumes is waited for", async () => {
    const journal = new WatchedJournal();
    const gate = new Gate<string>();
    const { pay } = payments({ run: () => gate.wait("pay") });
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }), say("done"));
    const { runner, clock, planner } = setUpPlanner(provider, [pay], { journal });
    const first = await clock.promptly(runner.run(planner, "Go."));
    const decisions = about(first, approve);
    const slow = new Deferred();
    journal.before = (step) => (step === "load" ? slow.promise : undefined);
    const refused = runner.resume(first.id, { decisions });
    await clock.promptly(runner.close());
    slow.resolve();
    await expect(refused).rejects.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("closed") });
    expect(await journal.lines(first.id)).not.toContain("call_decided 0/1.0");
    const next = setUp(provider, [pay], { journal, agents: [planner] });
    const resuming = next.runner.resume(first.id, { decisions });
    await gate.arrived("pay");
    let isClosed = false;
    const closing = next.runner.close().then(() => {
      isClosed = true;
    });
    await next.clock.settle();
    expect(isClosed).toBe(false);
    gate.open("pay", "paid");
    expect((await resuming).status).toBe("completed");
    await next.clock.promptly(closing);
  });

  it("what waits is told by tenant, of runs on this runner", async () => {
    const { pay } = payments();
    const provider = new ScriptedProvider(...["a", "b", "c"].map((id) => calls({ id, name: "pay" })));
    const { runner, planner } = setUpPlanner(provider, [pay]);
    for (const tenant of ["acme", "other", "acme"]) await runner.run(planner, "Go.", { tenant });
    const told = async (filter?: { tenant: string }): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { callId } of runner.pending(filter)) ids.push(callId);
      return ids;
    };
    expect(await told()).toEqual(["a", "b", "c"]);
    expect(await told({ tenant: "acme" })).toEqual(["a", "c"]);
    expect(await told({ tenant: "other" })).toEqual(["b"]);
    expect(await told({ tenant: "nobody" })).toEqual([]);
  });
});
