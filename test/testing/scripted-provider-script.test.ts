import { calls, ScriptedProvider, say, TestingError } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import type { ModelCall, ModelRequest } from "../../src/protocol/model.ts";

const request = (overrides: Partial<ModelRequest> = {}): ModelRequest => ({
  model: "m",
  instructions: "",
  messages: [{ role: "user", content: "Go." }],
  tools: [],
  settings: {},
  ...overrides,
});
const asked = (agent = "planner"): ModelCall => ({
  signal: new AbortController().signal,
  run: { id: "run_1", path: "0", turn: 1, agent, tenant: "default" },
});

describe("ScriptedProvider: each request takes one step of the script", () => {
  it("answers with responses, functions of the request, and errors, in order", async () => {
    const provider = new ScriptedProvider(
      say("first"),
      ({ messages }, { run }) => say(`${messages.length} for ${run.agent}`),
      async () => say("later"),
      new RangeError("broken"),
      () => {
        throw new TypeError("from a function");
      },
    );
    expect(provider.name).toBe("scripted");
    expect((await provider.generate(request(), asked())).content).toBe("first");
    expect((await provider.generate(request(), asked())).content).toBe("1 for planner");
    expect((await provider.generate(request(), asked())).content).toBe("later");
    await expect(provider.generate(request(), asked())).rejects.toThrow(RangeError);
    await expect(provider.generate(request(), asked())).rejects.toThrow(TypeError);
    provider.assertFinished();
  });

  it("keeps every request as a copy that nobody can change", async () => {
    const provider = new ScriptedProvider(say("one"), say("two"));
    const first = request({ settings: { nested: { list: [1] } } });
    await provider.generate(first, asked());
    (first.settings.nested as { list: number[] }).list.push(2);
    first.messages.push({ role: "user", content: "more" });
    await provider.generate(first, asked("researcher"));
    expect(provider.requests.map(({ messages }) => messages.length)).toEqual([1, 2]);
    expect(provider.requests[0]?.settings).toEqual({ nested: { list: [1] } });
    const nested = provider.requests[0]?.settings.nested as { list: number[] };
    expect([nested, nested.list, provider.requests[0]?.messages].every(Object.isFrozen)).toBe(true);
    expect(provider.requestsOf("researcher")).toEqual([provider.requests[1]]);
  });

  it("refuses a request beyond the script, saying which, and says it again at the end", async () => {
    const provider = new ScriptedProvider(say("only"));
    await provider.generate(request(), asked());
    await expect(provider.generate(request(), asked())).rejects.toThrow(
      /request 2 \(agent "planner", run run_1, path 0, turn 1\): the script has only 1 steps/,
    );
    expect(() => provider.assertFinished()).toThrow(/request 2 .*only 1 steps/);
  });

  it("names every step that nobody asked for", async () => {
    const provider = new ScriptedProvider(say("a"), calls({ search: {}, book: {} }), () => say("c"), new Error("d"));
    await provider.generate(request(), asked());
    let error: unknown;
    try {
      provider.assertFinished();
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(TestingError);
    expect((error as TestingError).problems).toEqual([
      "step 2 of 4 was never asked for: calls search, book",
      "step 3 of 4 was never asked for: a function of the request",
      "step 4 of 4 was never asked for: an instance of Error",
    ]);
  });

  it("keeps a script for each agent", async () => {
    const provider = ScriptedProvider.byAgent({ planner: [say("p1"), say("p2")], researcher: [say("r1")] });
    expect((await provider.generate(request(), asked("researcher"))).content).toBe("r1");
    expect((await provider.generate(request(), asked("planner"))).content).toBe("p1");
    await expect(provider.generate(request(), asked("stranger"))).rejects.toThrow(
      /agent "stranger".*no script for this agent; there are scripts for "planner", "researcher"/,
    );
    await expect(provider.generate(request(), asked("researcher"))).rejects.toThrow(/only 1 steps/);
    expect(() => provider.assertFinished()).toThrow(/step 2 of 2 of "planner" was never asked for: says "p2"/);
  });

  it("refuses steps that are none, when it is made", () => {
    expect(() => new ScriptedProvider(say("a"), "text" as never)).toThrow(
      /ScriptedProvider step 2: expected .* got "text"/,
    );
    expect(() => ScriptedProvider.byAgent({ planner: [undefined as never] })).toThrow(/step 1 of "planner"/);
  });

  it("refuses what a function gives that is no response", async () => {
    const provider = new ScriptedProvider(() => undefined as never);
    await expect(provider.generate(request(), asked())).rejects.toThrow(/expected its step to give a ModelResponse/);
    expect(() => provider.assertFinished()).toThrow(/ModelResponse, got undefined/);
  });
});
