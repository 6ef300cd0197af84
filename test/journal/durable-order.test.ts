import { agentTool, type JournalEntry } from "lanekeeper";
import { calls, Deferred, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { setUpPlanner } from "../runner/resuming.ts";
import { agent, setUp, tool } from "../runner/setting.ts";
import { WatchedJournal } from "./journals.ts";

const has = (entries: readonly JournalEntry[], kind: JournalEntry["kind"]): boolean =>
  entries.some((entry) => entry.kind === kind);

describe("Semantics 11.1: a dispatch is durable before its body starts, an outcome before the model sees it", () => {
  it("a body waits for its dispatch to be recorded, the model for the outcomes", async () => {
    const journal = new WatchedJournal();
    const begun = new Deferred();
    const settled = new Deferred();
    journal.before = (step, entries) => {
      if (has(entries, "call_begun")) {
        expect(step).toBe("begin");
        return begun.promise;
      }
      if (has(entries, "call_settled")) {
        expect(step).toBe("settle");
        return settled.promise;
      }
      return undefined;
    };
    let started = 0;
    const provider = new ScriptedProvider(calls({ id: "a", name: "search" }, { id: "b", name: "search" }), say("done"));
    const { runner, clock, planner } = setUpPlanner(provider, [tool("search", () => ++started)], { journal });
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(planner, "Go.");
    await clock.settle();
    expect(started).toBe(0);
    begun.resolve();
    await clock.settle();
    expect(started).toBe(2);
    expect(provider.requests).toHaveLength(1);
    settled.resolve();
    expect(await clock.promptly(running)).toMatchObject({ status: "completed" });
    await leaks.done();
  });

  it("what waits for one slow write goes together in the next, as what most depends on it", async () => {
    const journal = new WatchedJournal();
    const slow = new Deferred();
    let isFirst = true;
    journal.before = (step) => {
      if (step !== "append" || !isFirst) return undefined;
      isFirst = false;
      return slow.promise;
    };
    let started = 0;
    const provider = new ScriptedProvider(calls({ a: {} }, { b: {} }), say("done"));
    const body = (): number => ++started;
    const { runner, clock, planner } = setUpPlanner(provider, [tool("a", body), tool("b", body)], { journal });
    const running = runner.run(planner, "Go.");
    await clock.settle();
    expect(journal.asked).toEqual(["claim new", "append run_begun 0"]);
    expect(started).toBe(0);
    slow.resolve();
    await clock.promptly(running);
    expect(journal.asked.slice(2)).toEqual([
      ["begin model_answered 0", "call_gated 0/1.0", "call_gated 0/1.1", "call_begun 0/1.0", "call_begun 0/1.1"].join(
        " ",
      ),
      "settle call_settled 0/1.0 call_settled 0/1.1",
      "append model_answered 0",
      "release ended",
    ]);
  });

  it("every part of a run and of those that can be continued is recorded, in order; of others only what they took", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: { input: "x" } }, { own: {} }, { nowhere: {} }), say("done")],
      worker: [calls({ leaf: {} }), say("worked")],
      left: [say("left")],
    });
    const journal = new WatchedJournal();
    const planner = agent("planner", {
      tools: ["own", agentTool(agent("worker", { tools: ["leaf"] }), { name: "sub", description: "" })],
    });
    const tools = [
      tool("leaf", () => "leaf"),
      tool("own", async (_, ctx) => (await ctx.run(agent("left", { tools: [] }), "Go.")).status, {
        parallelSafe: false,
      }),
    ];
    const { runner, clock } = setUp(provider, tools, { journal, agents: [planner] });
    let lines: string[] = [];
    journal.before = async (step) => {
      if (step === "release") lines = await journal.lines("run_1");
    };
    const run = await clock.promptly(runner.run(planner, "Go."));
    expect(run.status).toBe("completed");
    expect(lines).toEqual([
      "run_begun 0",
      "model_answered 0",
      "call_settled 0/1.2",
      "call_gated 0/1.0",
      "call_gated 0/1.1",
      "call_begun 0/1.0",
      "run_begun 0/1.0",
      "model_answered 0/1.0",
      "call_gated 0/1.0/1.0",
      "call_begun 0/1.0/1.0",
      "call_settled 0/1.0/1.0",
      "model_answered 0/1.0",
      "usage_spent 0",
      "call_settled 0/1.0",
      "call_begun 0/1.1",
      "usage_spent 0",
      "call_settled 0/1.1",
      "model_answered 0",
    ]);
  });
});
