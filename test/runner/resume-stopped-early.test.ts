import { agentTool, defineTool, type Journal, MemoryJournal } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, outcomes, setUp, tool } from "./setting.ts";

const gated = tool("gated", () => "let through", { requiresApproval: true });
const idOf = (run: { pending?: { id: string }[] }): string => run.pending?.[0]?.id ?? "none";

describe("Semantics 2.4, 3.6: what was done before a resume is there in every ending of it", () => {
  function world(reduce: (old: number, next: number) => number = (old, next) => old + next) {
    const pay = tool("pay", (_, ctx) => {
      ctx.state.set("paid", 1);
      return "paid";
    });
    const planner = agent("planner", { state: { paid: { initial: 0, reduce } } });
    const provider = new ScriptedProvider(
      calls({ id: "a", name: "pay" }),
      calls({ id: "b", name: "pay" }, { id: "c", name: "gated" }),
      say("done"),
    );
    return { planner, ...setUp(provider, [pay, gated], { agents: [planner] }) };
  }

  it("a resume that is cancelled at once answers what waited, and keeps every turn", async () => {
    const { runner, clock, planner } = world();
    const run = await clock.promptly(runner.run(planner, "Go."));
    const resumed = await clock.promptly(
      runner.resume(run.id, { decisions: { [idOf(run as never)]: { approve: true } }, signal: AbortSignal.abort() }),
    );
    expect(resumed.status).toBe("cancelled");
    expect(outcomes(resumed)).toEqual([
      "a ok: paid",
      "b ok: paid",
      "c never_dispatched: never dispatched: the run was cancelled",
    ]);
    expect(faults(resumed)).toEqual([]);
    expect(resumed.usage).toEqual(run.usage);
    expect(resumed.state).toEqual({ paid: 2 });
  });

  it("a reducer that throws on what was written before fails the run, by its name, and loses no result", async () => {
    let asked = 0;
    const { runner, clock, planner } = world((old, next) => {
      asked += 1;
      if (asked > 2) throw new Error("changed my mind");
      return old + next;
    });
    const run = await clock.promptly(runner.run(planner, "Go."));
    const resumed = await clock.promptly(runner.resume(run.id));
    expect(errorOf(resumed)).toMatchObject({
      code: "TOOL_FAILED",
      message: "a reducer of the run's state failed on what was written before: changed my mind",
    });
    expect(resumed.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual([
      "a ok",
      "b ok",
      "c never_dispatched",
    ]);
    expect(faults(resumed)).toEqual([]);
  });
});

describe("Semantics 3.7: everything that waits below is pending, also while its call is held back", () => {
  it("behind a call that an edit has made an order-dependent one", async () => {
    const outside = defineTool({
      name: "outside",
      description: "",
      input: { type: "object", properties: { safe: { type: "boolean" } } },
      requiresApproval: true,
      parallelSafe: ({ safe }) => safe === true,
    });
    const child = agent("child", { tools: ["gated"] });
    const planner = agent("planner", { tools: ["outside", "ask"] });
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ outside: { safe: true } }, { ask: { input: "?" } }), say("done")],
      child: [calls({ gated: {} }), say("child done")],
    });
    const ask = agentTool(child, { name: "ask", description: "" });
    const { runner, clock } = setUp(provider, [gated, outside, ask], { agents: [planner] });
    const run = await clock.promptly(runner.run(planner, "Go."));
    const edited = await clock.promptly(
      runner.resume(run.id, { decisions: { [idOf(run as never)]: { approve: true, args: { safe: false } } } }),
    );
    if (edited.status !== "suspended") throw new Error(edited.status);
    expect(edited.pending.map(({ path, tool, reason }) => `${path} ${tool} ${reason}`)).toEqual([
      "0 outside external",
      "0/1.1 gated approval",
    ]);
    const [first, second] = edited.pending.map(({ id }) => id) as [string, string];
    const done = await clock.promptly(
      runner.resume(run.id, { decisions: { [first]: { result: "answered" }, [second]: { approve: true } } }),
    );
    expect(done.results.map(({ content }) => content)).toEqual(["answered", "child done"]);
  });

  it("an agentTool in another tool's body cannot wait, and says so", async () => {
    const child = agent("child", { tools: ["gated"] });
    const ask = agentTool(child, { description: "" });
    const wrapped = tool("wrapped", (args, ctx) => ask.run?.(args as { input: string }, ctx));
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ id: "a", name: "wrapped", args: { input: "?" } }), say("done")],
      child: [calls({ gated: {} })],
    });
    const { runner, clock } = setUp(provider, [gated, wrapped]);
    const run = await clock.promptly(runner.run(agent("planner", { tools: ["wrapped"] }), "Go."));
    expect(run.status).toBe("completed");
    expect(outcomes(run)).toEqual([
      expect.stringMatching(/^a error: wrapped failed: agent "child": expected an answer/),
    ]);
  });
});

describe("Semantics 4.10, 7.4, 11.1: a journal that never answers does not outlast a cancel", () => {
  const hanging = (...hangs: (keyof Journal)[]): Journal => {
    const memory = new MemoryJournal();
    const never = (): Promise<never> => new Promise(() => {});
    const entries = (["claim", "load", "begin", "settle", "append", "release", "pending"] as const).map((name) => [
      name,
      hangs.includes(name) ? never : (memory[name] as (...given: never[]) => unknown).bind(memory),
    ]);
    return Object.fromEntries(entries) as Journal;
  };

  it.each([["claim"], ["begin"], ["settle"], ["append"], ["release"]] as const)("%s", async (name) => {
    const controller = new AbortController();
    const provider = new ScriptedProvider(calls({ quick: {} }), () => new Promise<never>(() => {}));
    const { runner, clock } = setUp(provider, [tool("quick", () => "done")], {
      journal: hanging(name),
      concurrency: { perTool: { quick: 1 } },
    });
    const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
    await clock.settle();
    controller.abort();
    const run = await clock.promptly(running);
    expect(run.status).toBe("cancelled");
    expect(faults(run)).toEqual([]);
    expect(runner.lanes().map(({ inFlight, waiting }) => inFlight + waiting)).toEqual([0]);
  });
});
