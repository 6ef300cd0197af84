import { breaksOff, calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import type { ModelCall, ModelDelta, ModelRequest } from "../../src/protocol/model.ts";

const request: ModelRequest = { model: "m", instructions: "", messages: [], tools: [], settings: {} };
const asked: ModelCall = {
  signal: new AbortController().signal,
  run: { id: "run_1", path: "0", turn: 1, agent: "planner", tenant: "default" },
};

async function deltasOf(provider: ScriptedProvider): Promise<ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  for await (const delta of provider.stream(request, asked)) deltas.push(delta);
  return deltas;
}

describe("ScriptedProvider: a streamed answer comes in pieces and is the same answer", () => {
  it("cuts text and arguments into pieces that add up, and ends with the whole", async () => {
    const script = {
      ...calls({ search: { q: "Kyoto 🗾 in spring" } }, { id: "b", name: "book", args: "{" }),
      content: "One moment 🙂🙂🙂🙂.",
    };
    const deltas = await deltasOf(new ScriptedProvider(script));
    const response = await new ScriptedProvider(script).generate(request, asked);
    const texts = deltas.flatMap((delta) => (delta.type === "text" ? [delta.text] : []));
    expect(texts.length).toBeGreaterThan(1);
    expect(texts.join("")).toBe(script.content);
    expect(texts.every((text) => !/\p{Surrogate}/u.test(text))).toBe(true);
    for (const [index, call] of response.toolCalls.entries()) {
      const own = deltas.filter((delta) => "index" in delta && delta.index === index);
      expect(own[0]).toEqual({ type: "tool_call_start", index, id: call.id, name: call.name });
      expect(own.at(-1)).toEqual({ type: "tool_call_end", index });
      const text = own.flatMap((delta) => (delta.type === "tool_call_delta" ? [delta.argsText] : [])).join("");
      expect(text).toBe(typeof call.args === "string" ? call.args : JSON.stringify(call.args));
    }
    expect(deltas.at(-1)).toEqual({ type: "end", response });
  });

  it("streams arguments that no vendor could send as none at all", async () => {
    const deltas = await deltasOf(
      new ScriptedProvider(calls({ id: "a", name: "x", args: 1n }, { id: "b", name: "y" })),
    );
    expect(deltas.map(({ type }) => type)).toEqual([
      "tool_call_start",
      "tool_call_end",
      "tool_call_start",
      "tool_call_end",
      "end",
    ]);
  });

  it("takes one step of the script, as without streaming", async () => {
    const provider = new ScriptedProvider(say("one"), say("two"));
    await deltasOf(provider);
    expect((await provider.generate(request, asked)).content).toBe("two");
    provider.assertFinished();
  });

  it("breaks off after so many pieces, at the latest before the end", async () => {
    const broken = (pieces: number): ScriptedProvider =>
      new ScriptedProvider(breaksOff(say("a text of several pieces"), pieces, new Error("connection lost")));
    for (const [after, expected] of [
      [0, 0],
      [2, 2],
      [99, 3],
    ] as const) {
      const seen: ModelDelta[] = [];
      const reading = (async () => {
        for await (const delta of broken(after).stream(request, asked)) seen.push(delta);
      })();
      await expect(reading).rejects.toThrow("connection lost");
      expect(seen).toHaveLength(expected);
    }
    await expect(broken(1).generate(request, asked)).rejects.toThrow("connection lost");
    expect(() => breaksOff(say("x"), -1, new Error("x"))).toThrow(/breaksOff afterPieces/);
    expect(() => new ScriptedProvider(breaksOff(say("x"), 1, new Error("x"))).assertFinished()).toThrow(/breaks off/);
  });
});
