import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import type { Message } from "../../src/protocol/message.ts";
import type { ModelCall, ModelRequest } from "../../src/protocol/model.ts";

const request = (messages: Message[] = []): ModelRequest => ({
  model: "m",
  instructions: "",
  messages,
  tools: [],
  settings: {},
});
const asked: ModelCall = {
  signal: new AbortController().signal,
  run: { id: "run_1", path: "0", turn: 1, agent: "planner", tenant: "default" },
};

describe("say and calls: responses are written in one line", () => {
  it("writes text that ends the run", () => {
    expect(say("Hello.")).toEqual({
      content: "Hello.",
      toolCalls: [],
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      finishReason: "stop",
    });
    expect(say("Cut", { finishReason: "length" }).finishReason).toBe("length");
  });

  it("writes calls in order, several of one tool too", () => {
    const response = calls({ search: { q: "x" }, book: { id: 1 } }, { search: { q: "y" } });
    expect(response.finishReason).toBe("tool_calls");
    expect(response.content).toBe("");
    expect(response.toolCalls).toEqual([
      { id: "search_0", name: "search", args: { q: "x" } },
      { id: "book_1", name: "book", args: { id: 1 } },
      { id: "search_2", name: "search", args: { q: "y" } },
    ]);
  });

  it("leaves a call that is written out as it is, however wrong", () => {
    const written = [
      { id: "a", name: "search", args: "{" },
      { id: "a", name: "search", args: null },
      { id: "", name: "x", args: {} },
      { name: "y", args: {} },
      { id: "z", name: "now" },
    ];
    expect(calls(...written).toolCalls).toStrictEqual(written);
  });

  it("takes { tool: args } for a tool called name, id or args", () => {
    expect(calls({ name: { q: 1 } }, { id: {} }, { args: {} }).toolCalls.map(({ name }) => name)).toEqual([
      "name",
      "id",
      "args",
    ]);
    expect(calls({ name: "{}" }).toolCalls).toMatchObject([{ name: "name", args: "{}" }]);
  });

  it("refuses what is no object", () => {
    expect(() => calls({ a: {} }, "search" as never)).toThrow(/calls argument 1: expected \{ tool: args \}/);
  });

  it("gives ids that nobody wrote the turn in front, so that one script repeats no id", async () => {
    const turn = calls({ search: { q: "x" } }, { id: "mine", name: "search", args: {} });
    const provider = new ScriptedProvider(turn, () => ({ ...turn, content: "again" }));
    const first = await provider.generate(request(), asked);
    expect(first.toolCalls.map(({ id }) => id)).toEqual(["t1_search_0", "mine"]);
    const messages: Message[] = [
      { role: "assistant", content: "", toolCalls: first.toolCalls },
      ...first.toolCalls.map(
        ({ id, name }): Message => ({ role: "tool", callId: id, name, content: "found", isError: false }),
      ),
    ];
    const second = await provider.generate(request(messages), asked);
    expect(second.toolCalls.map(({ id }) => id)).toEqual(["t2_search_0", "mine"]);
    expect(turn.toolCalls[0]?.id).toBe("search_0");
  });
});
