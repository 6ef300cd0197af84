import { type AgentLike, agentTool } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, faults, lines, setUp, tool } from "./setting.ts";

describe("Semantics 2.1: input, model, batch, results, model, until the model answers without calls", () => {
  it("a run without calls is one request and its answer", async () => {
    const provider = new ScriptedProvider(say("Hello."));
    const { runner, clock } = setUp(provider, [tool("search", () => "found")]);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await runner.run(
      agent("planner", { instructions: "Plan trips.", settings: { temperature: 0 } }),
      "Good morning.",
    );
    expect(run).toEqual({
      id: "run_1",
      status: "completed",
      output: "Hello.",
      messages: [
        { role: "user", content: "Good morning." },
        { role: "assistant", content: "Hello." },
      ],
      events: run.events,
      results: [],
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      state: {},
    });
    expect(lines(run.events)).toEqual(["0 run_started", "0 model_requested", "0 model_responded", "0 run_completed"]);
    expect(provider.requests).toEqual([
      {
        model: "m",
        instructions: "Plan trips.",
        messages: [{ role: "user", content: "Good morning." }],
        tools: [{ name: "search", description: "search", inputSchema: { type: "object" } }],
        settings: { temperature: 0 },
      },
    ]);
    await leaks.done();
  });

  it("each turn's calls are one batch, and the model is shown all that went before", async () => {
    const provider = new ScriptedProvider(
      {
        ...calls({ id: "a", name: "search", args: { q: "x" } }, { id: "b", name: "search", args: '{"q":"y"}' }),
        content: "Looking.",
      },
      { ...calls({ id: "c", name: "book" }), vendor: { signature: "s1" } },
      say("Booked."),
    );
    const { runner, clock } = setUp(provider, [
      tool("search", ({ q }) => ({ found: q })),
      tool("book", () => {
        throw new Error("sold out");
      }),
    ]);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await runner.run(agent("planner"), "Four nights.");
    const messages = [
      { role: "user", content: "Four nights." },
      {
        role: "assistant",
        content: "Looking.",
        toolCalls: [
          { id: "a", name: "search", args: { q: "x" } },
          { id: "b", name: "search", args: { q: "y" } },
        ],
      },
      { role: "tool", callId: "a", name: "search", content: '{"found":"x"}', isError: false },
      { role: "tool", callId: "b", name: "search", content: '{"found":"y"}', isError: false },
      { role: "assistant", content: "", toolCalls: [{ id: "c", name: "book", args: {} }], vendor: { signature: "s1" } },
      { role: "tool", callId: "c", name: "book", content: "book failed: sold out", isError: true },
      { role: "assistant", content: "Booked." },
    ];
    expect(run.messages).toEqual(messages);
    expect(provider.requests.map((request) => request.messages)).toEqual([
      messages.slice(0, 1),
      messages.slice(0, 4),
      messages.slice(0, 6),
    ]);
    expect(run.status).toBe("completed");
    expect(run.results).toMatchObject([
      { callId: "a", name: "search", status: "ok", value: { found: "x" }, mayHaveLanded: false },
      { callId: "b", name: "search", status: "ok", value: { found: "y" }, mayHaveLanded: false },
      { callId: "c", name: "book", status: "error", error: { code: "TOOL_FAILED" }, mayHaveLanded: false },
    ]);
    expect(run.usage).toEqual({ inputTokens: 3, outputTokens: 3, totalTokens: 6 });
    expect(faults(run)).toEqual([]);
    await leaks.done();
  });

  it("usage is summed over every request, with those of nested runs at any depth", async () => {
    const spent = (tokens: number) => ({ usage: { inputTokens: tokens, outputTokens: 1, totalTokens: tokens + 1 } });
    const provider = ScriptedProvider.byAgent({
      planner: [
        { ...calls({ research: { input: "a" } }, { research: { input: "b" } }), ...spent(1) },
        say("ok", spent(10)),
      ],
      researcher: [
        { ...calls({ dig: { input: "c" } }), ...spent(100) },
        { ...calls({ dig: { input: "d" } }), ...spent(100) },
        say("dug", spent(1_000)),
        say("dug", spent(1_000)),
      ],
      digger: [say("deep", spent(10_000)), say("deep", spent(10_000))],
    });
    const dig = agentTool(agent("digger", { tools: [] }), { name: "dig", description: "" });
    const research = agentTool(agent("researcher", { tools: [dig] }), { name: "research", description: "" });
    const { runner, clock } = setUp(provider, []);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await runner.run(agent("planner", { tools: [research] }), "Go.");
    expect(run.usage).toEqual({ inputTokens: 22_211, outputTokens: 8, totalTokens: 22_219 });
    await leaks.done();
  });

  it("a run has an id, a tenant and a context; a nested run has its caller's", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ look: {} }), say("ok")],
      researcher: [calls({ look: { deep: true } }), say("ok")],
    });
    const context = { db: "d" };
    const seen: unknown[] = [];
    const nested: AgentLike = agent("researcher");
    const { runner, clock } = setUp(provider, [
      tool("look", async ({ deep }, ctx) => {
        seen.push([
          ctx.runId,
          ctx.path,
          ctx.depth,
          ctx.tenant,
          ctx.callId,
          ctx.context === context,
          ctx.idempotencyKey,
        ]);
        if (deep !== true) await ctx.run(nested, "Deeper.");
      }),
    ]);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await runner.run(agent("planner"), "Go.", { tenant: "acme", runId: "mine", context });
    expect(run.id).toBe("mine");
    expect(seen).toEqual([
      ["mine", "0", 0, "acme", "t1_look_0", true, "mine/0/1.0"],
      ["mine", "0/1.0", 1, "acme", "t1_look_0", true, "mine/0/1.0/1.0"],
    ]);
    expect(new Set(run.events.map(({ runId }) => runId))).toEqual(new Set(["mine"]));
    await leaks.done();
  });

  it("a provider of the agent goes before the runner's, and is told on whose behalf it is asked", async () => {
    const runners = new ScriptedProvider();
    const asked: unknown[] = [];
    const own = new ScriptedProvider((_, { run }) => {
      asked.push(run);
      return say("mine");
    });
    const { runner } = setUp(runners, []);
    const run = await runner.run(agent("planner", { provider: own }), "Go.", { tenant: "acme" });
    expect(run).toMatchObject({ status: "completed", output: "mine" });
    expect(asked).toEqual([{ id: "run_1", path: "0", turn: 1, agent: "planner", tenant: "acme" }]);
    runners.assertFinished();
  });
});
