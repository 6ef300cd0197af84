import { ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import type { ModelCall, ModelRequest } from "../../src/protocol/model.ts";

const unanswered: ModelRequest = {
  model: "m",
  instructions: "",
  messages: [{ role: "assistant", content: "", toolCalls: [{ id: "a", name: "search", args: "{" }] }],
  tools: [],
  settings: {},
};
const asked: ModelCall = {
  signal: new AbortController().signal,
  run: { id: "run_1", path: "0", turn: 2, agent: "planner", tenant: "default" },
};

describe("ScriptedProvider: a request that a strict vendor would refuse fails", () => {
  it("rejects with everything that is wrong, and takes no step", async () => {
    const provider = new ScriptedProvider(say("one"));
    await expect(provider.generate(unanswered, asked)).rejects.toThrow(
      /strict vendor would refuse request 1[\s\S]*args: expected an object[\s\S]*call "a" has no result/,
    );
    expect(provider.requests).toHaveLength(1);
    expect((await provider.generate({ ...unanswered, messages: [] }, asked)).content).toBe("one");
  });

  it("says it again at the end, for a run that swallowed the error", async () => {
    const provider = new ScriptedProvider();
    await provider.generate(unanswered, asked).catch(() => {});
    expect(() => provider.assertFinished()).toThrow(/request 1 \(agent "planner".*turn 2\): .*call "a" has no result/);
  });

  it("is as strict when it streams", async () => {
    const provider = new ScriptedProvider(say("one"));
    await expect(provider.stream(unanswered, asked).next()).rejects.toThrow(/strict vendor/);
  });

  it("rejects rather than crashes when the request is not even plain data", async () => {
    const hostile = { ...unanswered, messages: [], settings: { self: null as unknown, on: () => {} } };
    hostile.settings.self = hostile.settings;
    await expect(new ScriptedProvider(say("one")).generate(hostile, asked)).rejects.toThrow(
      /settings\.self: contains itself/,
    );
  });
});
