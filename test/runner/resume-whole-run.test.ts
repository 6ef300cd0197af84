import { agentTool, MemoryJournal, type RunEvent, type ToolContext } from "lanekeeper";
import { calls, Gate, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { about, answers, approve, payments, pendingOf, setUpPlanner, verdicts } from "./resuming.ts";
import { agent, errorOf, faults, kinds, lines, outcomes, setUp, tool } from "./setting.ts";

describe("Semantics 2.3, 3.5, 3.6, 6: a resumed run is the whole run", () => {
  it("its messages, results, usage and state are those of both parts, its events those from the resume on", async () => {
    const note = (_: unknown, { state, callId }: ToolContext): string => {
      state.set("notes", [callId]);
      state.set("last", callId);
      if (callId === "a") state.set("gone", 1);
      else state.delete("gone");
      return JSON.stringify(state.toJSON());
    };
    const planner = agent("planner", {
      state: { notes: { initial: ["start"], reduce: (old: string[], next: string[]) => [...old, ...next] } },
    });
    const provider = new ScriptedProvider(
      calls({ id: "a", name: "note" }),
      {
        ...calls({ id: "b", name: "note" }, { id: "p", name: "pay" }, { id: "c", name: "note" }),
        content: "Now.",
        vendor: { mark: 1 },
      },
      calls({ id: "d", name: "note" }),
      say("done"),
    );
    const tools = [tool("note", note), tool("pay", note, { requiresApproval: true })];
    const { runner, clock, heard } = setUp(provider, tools, { agents: [planner] });
    const leaks = leakCheck(runner, { clock, provider });
    const first = await runner.run(planner, "Go.", { tenant: "acme", state: { given: true } });
    expect(first.state).toEqual({ notes: ["start", "a", "b", "c"], last: "c", given: true });
    const before = heard.length;
    const own: RunEvent[] = [];
    const last = await runner.resume(first.id, {
      decisions: about(first, approve),
      onEvent: (event) => own.push(event),
    });
    // What was merged first stays first: the payment wrote last.
    expect(last.state).toEqual({ notes: ["start", "a", "b", "c", "p", "d"], last: "d", given: true });
    expect(last.usage).toEqual({ inputTokens: 4, outputTokens: 4, totalTokens: 8 });
    expect(last.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual([
      "a ok",
      "b ok",
      "p ok",
      "c ok",
      "d ok",
    ]);
    expect(last.messages.map((one) => (one.role === "tool" ? one.callId : one.role))).toEqual([
      "user",
      "assistant",
      "a",
      "assistant",
      "b",
      "p",
      "c",
      "assistant",
      "d",
      "assistant",
    ]);
    expect(last.messages.slice(0, 4)).toEqual(first.messages);
    expect(last.messages[3]).toMatchObject({ content: "Now.", vendor: { mark: 1 } });
    expect(faults(last)).toEqual([]);
    // The values of what was kept come back as they were.
    const kept = new Map(first.results.map((result) => [result.callId, result]));
    for (const result of last.results) if (kept.has(result.callId)) expect(result).toEqual(kept.get(result.callId));
    expect(kinds(last.events)[0]).toBe("run_resumed");
    expect(kinds(last.events).at(-1)).toBe("run_completed");
    expect(kinds(last.events, "p")).toEqual([
      "gate_passed",
      "tool_queued",
      "tool_dispatched",
      "tool_completed",
      "tool_result",
    ]);
    expect(lines(last.events).filter((line) => / [abc]\b/.test(line))).toEqual([]);
    expect(last.events.map(({ seq }) => seq)).toEqual(last.events.map((_, at) => at));
    expect(own.map(({ kind }) => kind)).toEqual(heard.slice(before).map(({ kind }) => kind));
    expect(Object.values(verdicts(heard))).toEqual(Array(5).fill(1));
    expect(heard.filter(({ kind }) => kind === "batch_resolved")).toHaveLength(3);
    await leaks.done();
  });

  it("errors of the first part are what they were, for the user and for the model", async () => {
    const provider = new ScriptedProvider(
      calls(
        { id: "a", name: "breaks" },
        { id: "b", name: "nowhere" },
        { id: "c", name: "slow" },
        { id: "p", name: "pay" },
      ),
      say("done"),
    );
    const { pay } = payments();
    const planner = agent("planner");
    const tools = [
      tool("breaks", () => Promise.reject(new TypeError("broken"))),
      tool("slow", () => new Promise(() => {})),
      pay,
    ];
    const { runner, clock } = setUp(provider, tools, {
      agents: [planner],
      concurrency: { perToolSeconds: { slow: 5 } },
    });
    const running = runner.run(planner, "Go.");
    await clock.advance(5);
    const first = await clock.promptly(running);
    const last = await clock.promptly(runner.resume(first.id, { decisions: about(first, approve) }));
    expect(last.results.slice(0, 3).map(({ error }) => error?.toJSON())).toEqual(
      first.results.map(({ error }) => error?.toJSON()),
    );
    expect(last.results.map(({ error, mayHaveLanded }) => `${error?.name} ${error?.code} ${mayHaveLanded}`)).toEqual([
      "ToolFailedError TOOL_FAILED false",
      "ToolNotFoundError TOOL_NOT_FOUND false",
      "ToolTimedOutError TOOL_TIMED_OUT true",
      "undefined undefined false",
    ]);
    expect(last.results[2]?.error).toMatchObject({ tool: "slow", ceilingSeconds: 5 });
    await clock.advance(60);
  });

  it("a call held back behind one that waits alone runs after it, and once", async () => {
    const order: string[] = [];
    const body = (name: string) => () => void order.push(name);
    const provider = new ScriptedProvider(
      calls({ id: "a", name: "find" }, { id: "p", name: "pay" }, { id: "b", name: "find" }, { id: "c", name: "find" }),
      say("done"),
    );
    const { runner, clock, planner, heard } = setUpPlanner(provider, [
      tool("find", (_, { callId }) => body(callId)()),
      tool("pay", body("p"), { requiresApproval: true, parallelSafe: false }),
    ]);
    const leaks = leakCheck(runner, { clock, provider });
    const first = await runner.run(planner, "Go.");
    expect(order).toEqual(["a"]);
    const again = await runner.resume(first.id);
    expect(order).toEqual(["a"]);
    expect(outcomes(again)).toEqual(outcomes(first));
    const last = await runner.resume(first.id, { decisions: about(first, approve) });
    expect(order).toEqual(["a", "p", "b", "c"]);
    expect(last.status).toBe("completed");
    expect(Object.values(verdicts(heard))).toEqual([1, 1, 1, 1]);
    await leaks.done();
  });

  it("so is one behind an agent below which a call waits, when that agent's call is not parallel-safe", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ id: "s", name: "sub", args: { input: "x" } }, { id: "f", name: "find" }), say("done")],
      worker: [calls({ id: "p", name: "pay" }), say("worked")],
    });
    const { pay, ran } = payments();
    let found = 0;
    const sub = agentTool(agent("worker", { tools: [pay] }), { name: "sub", description: "", parallelSafe: false });
    const planner = agent("planner", { tools: ["find", sub] });
    const { runner, clock } = setUp(provider, [tool("find", () => ++found)], { agents: [planner] });
    const leaks = leakCheck(runner, { clock, provider });
    const first = await runner.run(planner, "Go.");
    expect(found).toBe(0);
    const last = await runner.resume(first.id, { decisions: about(first, approve) });
    expect([found, ran.length]).toEqual([1, 1]);
    expect(answers(last)).toEqual(["s: worked", "f: 1"]);
    await leaks.done();
  });

  it("through ctx.run a run below that waits is the body's to decide about, in the second part as in the first", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ id: "p", name: "pay" }), calls({ id: "s", name: "sub" }), say("done")],
      worker: [calls({ id: "q", name: "pay" })],
    });
    const { pay } = payments();
    const { runner, clock, planner } = setUpPlanner(provider, [
      pay,
      tool("sub", async (_, ctx) => {
        const below = await ctx.run(agent("worker", { tools: ["pay"] }), "Go.");
        return below.status === "suspended" ? below.pending.map(({ id }) => id) : below.status;
      }),
    ]);
    const leaks = leakCheck(runner, { clock, provider });
    const first = await runner.run(planner, "Go.");
    const last = await runner.resume(first.id, { decisions: about(first, approve) });
    expect(outcomes(last)).toEqual(["p ok: paid", 's ok: ["run_1/0/2.0/1.0"]']);
    // Nobody waits for it: the body has decided.
    await expect(runner.resume(first.id, { decisions: { "run_1/0/2.0/1.0": approve } })).rejects.toMatchObject({
      code: "CONFIGURATION",
    });
    await leaks.done();
  });

  it("the context is what the resume is given, also below", async () => {
    const seen: unknown[] = [];
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ id: "s", name: "sub", args: { input: "x" } }), say("done")],
      worker: [calls({ id: "p", name: "pay" }), say("worked")],
    });
    const { pay } = payments({
      requiresApproval: (_: unknown, { context }: { context: unknown }) => seen.push(context) > 0,
      run: (_: unknown, { context }: ToolContext) => void seen.push(context),
    });
    const planner = agent("planner", {
      tools: [agentTool(agent("worker", { tools: [pay] }), { name: "sub", description: "" })],
    });
    const { runner } = setUp(provider, [], { agents: [planner] });
    const first = await runner.run(planner, "Go.", { context: "first" });
    await runner.resume(first.id, { decisions: about(first, approve), context: "second" });
    expect(seen).toEqual(["first", "second"]);
  });

  it("a tool that is gone, or whose schema is stricter now, fails its call and no other", async () => {
    const provider = new ScriptedProvider(
      calls({ id: "a", name: "pay", args: { sum: 5 } }, { id: "b", name: "seal" }, { id: "c", name: "find" }),
      say("done"),
    );
    const journal = new MemoryJournal();
    const planner = agent("planner");
    const find = tool("find", () => "found");
    const { pay } = payments();
    const one = setUp(provider, [pay, tool("seal"), find], { journal, agents: [planner] });
    const first = await one.runner.run(planner, "Go.");
    const { pay: stricter, ran } = payments({
      input: { type: "object", properties: { sum: { type: "number", maximum: 4 } } },
    });
    const two = setUp(provider, [stricter, find], { journal, agents: [agent("planner")] });
    const [a, b] = pendingOf(first).map(({ id }) => id) as [string, string];
    const last = await two.runner.resume(first.id, { decisions: { [a]: approve, [b]: { result: "sealed" } } });
    expect(ran).toEqual([]);
    expect(last.results.map(({ callId, error }) => `${callId} ${error?.code}`)).toEqual([
      "a TOOL_INPUT",
      "b TOOL_NOT_FOUND",
      "c undefined",
    ]);
    expect(faults(last)).toEqual([]);
  });

  it("calls that went through their gates as parallel-safe run alone when their tool is not parallel-safe any more", async () => {
    const journal = new MemoryJournal();
    const gate = new Gate();
    const { pay } = payments({ parallelSafe: false });
    const planner = agent("planner");
    const find = (parallelSafe: boolean) => tool("find", (_, { callId }) => gate.wait(callId), { parallelSafe });
    const provider = new ScriptedProvider(
      calls({ id: "p", name: "pay" }, { id: "a", name: "find" }, { id: "b", name: "find" }),
      say("done"),
    );
    const one = setUp(provider, [pay, find(true)], { journal, agents: [planner] });
    const first = await one.runner.run(planner, "Go.");
    const two = setUp(provider, [pay, find(false)], { journal, agents: [agent("planner")] });
    const resuming = two.runner.resume(first.id, { decisions: about(first, approve) });
    await two.clock.settle();
    expect(gate.waiting).toEqual(["a"]);
    gate.leaveOpen();
    expect((await two.clock.promptly(resuming)).status).toBe("completed");
    expect(gate.arrivals).toEqual(["a", "b"]);
  });

  it("deadlines begin anew with the resume; a run that passes one has ended, with what waited on answered", async () => {
    const gate = new Gate<string>();
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }, { id: "b", name: "pay" }));
    const { pay } = payments({ run: () => gate.wait("pay") });
    const { runner, clock, planner } = setUpPlanner(provider, [pay], { deadlines: { runSeconds: 10 } });
    const first = await runner.run(planner, "Go.");
    await clock.advance(3_600);
    const [a] = pendingOf(first).map(({ id }) => id) as [string];
    const resuming = runner.resume(first.id, { decisions: { [a]: approve } });
    await gate.arrived("pay");
    await clock.advance(10);
    const run = await clock.promptly(resuming);
    expect(errorOf(run).code).toBe("DEADLINE_EXCEEDED");
    expect(run.results.map(({ status }) => status)).toEqual(["indeterminate", "never_dispatched"]);
    expect(faults(run)).toEqual([]);
    await expect(runner.resume(first.id)).rejects.toMatchObject({ code: "CONFIGURATION" });
    gate.openAll("late");
  });

  it("a failure behind the resume ends a fail_run run, with what waited on answered", async () => {
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }, { id: "b", name: "pay" }));
    const { pay } = payments({ run: () => Promise.reject(new Error("broken")) });
    const planner = agent("planner", { onToolError: "fail_run" });
    const { runner } = setUp(provider, [pay], { agents: [planner] });
    const first = await runner.run(planner, "Go.");
    const [a] = pendingOf(first).map(({ id }) => id) as [string];
    const run = await runner.resume(first.id, { decisions: { [a]: approve } });
    expect(errorOf(run).message).toContain("broken");
    expect(outcomes(run)).toEqual([
      expect.stringMatching(/^a error: .*broken/),
      expect.stringMatching(/^b never_dispatched: never dispatched: a sibling failed: .*broken/),
    ]);
    expect(answers(run)).toHaveLength(2);
  });

  it("a conversation that was put right, and ids used twice, are the same in the second part", async () => {
    const provider = new ScriptedProvider(
      calls(
        { id: "x", name: "pay", args: { sum: 1 } },
        { id: "x", name: "pay", args: { sum: 2 } },
        { name: "pay", args: '{"sum":3}' },
        { id: "y", name: "pay", args: "{" },
      ),
      say("done"),
    );
    const { pay, ran } = payments();
    const { runner, planner } = setUpPlanner(provider, [pay]);
    const first = await runner.run(planner, [
      { role: "user", content: "Go." },
      { role: "assistant", content: "", toolCalls: [{ id: "x", name: "pay", args: {} }] },
    ]);
    const last = await runner.resume(first.id, { decisions: about(first, approve) });
    expect(last.status).toBe("completed");
    expect(last.messages.slice(0, 4)).toEqual(first.messages);
    expect(faults(last)).toEqual([]);
    expect(last.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual([
      "x_2 ok",
      "x_3 ok",
      "call_1_2 ok",
      "y error",
    ]);
    expect(ran.map(({ args }) => args.sum)).toEqual([1, 2, 3]);
  });
});
