import type { Message } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, faults, setUp, tool } from "./setting.ts";

const asks = (...ids: (string | undefined)[]): Message => ({
  role: "assistant",
  content: "",
  toolCalls: ids.map((id) => ({ id, name: "search", args: {} })) as never,
});
const answers = (callId: string, content = `of ${callId}`): Message => ({
  role: "tool",
  callId,
  name: "search",
  content,
  isError: false,
});
const unknown = (callId: string): Message => ({
  role: "tool",
  callId,
  name: "search",
  content: "outcome unknown: this call was never answered",
  isError: true,
});
const user: Message = { role: "user", content: "Go on." };

/** What the model is shown of a loaded conversation. */
async function shown(conversation: readonly Message[]): Promise<readonly Message[]> {
  const provider = new ScriptedProvider(say("done"));
  const { runner } = setUp(provider, [tool("search", () => "never")]);
  const before = structuredClone(conversation);
  const run = await runner.run(agent("planner"), conversation);
  provider.assertFinished();
  expect(conversation).toEqual(before);
  expect(faults(run)).toEqual([]);
  expect(run.results).toEqual([]);
  const messages = provider.requests[0]?.messages as Message[];
  expect(run.messages).toEqual([...messages, { role: "assistant", content: "done" }]);
  return messages;
}

describe("Semantics 2.13: a loaded conversation is put right, in a copy, before the first request", () => {
  it("what is right already is left as it was", async () => {
    const conversation: Message[] = [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "Look." },
          { type: "file", mediaType: "image/png", data: new Uint8Array([1]) },
        ],
      },
      { ...asks("a", "b"), vendor: { signature: "s" } } as Message,
      answers("a"),
      { ...answers("b"), content: [{ type: "text", text: "seen" }], isError: true } as Message,
      { role: "assistant", content: "Found." },
      user,
    ];
    expect(await shown(conversation)).toEqual(conversation);
  });

  it("an unanswered call is answered `outcome unknown`, and never run", async () => {
    expect(await shown([user, asks("a", "b"), answers("b"), user])).toEqual([
      user,
      asks("a", "b"),
      unknown("a"),
      answers("b"),
      user,
    ]);
    expect(await shown([user, asks("a")])).toEqual([user, asks("a"), unknown("a")]);
  });

  it("a result without a call is left out, and so is the second of two", async () => {
    expect(
      await shown([answers("x"), user, asks("a"), answers("a", "first"), answers("a", "second"), answers("y")]),
    ).toEqual([user, asks("a"), answers("a", "first")]);
  });

  it("disordered results stand in call order, right behind the message that asked", async () => {
    expect(await shown([user, asks("a", "b"), answers("b"), user, answers("a"), asks("c"), answers("c")])).toEqual([
      user,
      asks("a", "b"),
      answers("a"),
      answers("b"),
      user,
      asks("c"),
      answers("c"),
    ]);
  });

  it("a result that stands before its call is moved behind it", async () => {
    expect(await shown([user, answers("a"), asks("a", "b"), answers("b")])).toEqual([
      user,
      asks("a", "b"),
      answers("a"),
      answers("b"),
    ]);
    // Of two the one in its place counts; and a doubled result of an earlier call is nobody's.
    expect(await shown([answers("a", "early"), asks("a"), answers("a"), answers("a", "again"), asks("a")])).toEqual([
      asks("a"),
      answers("a"),
      asks("a_2"),
      unknown("a_2"),
    ]);
  });

  it("doubled and missing ids are given anew, on the call and on its result", async () => {
    const name = "search";
    expect(
      await shown([
        asks("0"),
        answers("0", "one"),
        asks("0", "0"),
        answers("0", "two"),
        answers("0", "three"),
        asks(undefined),
      ]),
    ).toEqual([
      asks("0"),
      answers("0", "one"),
      asks("0_2", "0_3"),
      { ...answers("0_2", "two"), name },
      { ...answers("0_3", "three"), name },
      asks("call_3_0"),
      unknown("call_3_0"),
    ]);
  });

  it("arguments that are text are an object; text that is none is shown as it came", async () => {
    const asked: Message = {
      role: "assistant",
      content: "",
      toolCalls: [
        { id: "a", name: "search", args: '{"q":1}' },
        { id: "b", name: "search", args: '{"q":' },
        { id: "c", name: "my tool", args: undefined },
      ],
    };
    expect((await shown([asked]))[0]).toEqual({
      ...asked,
      toolCalls: [
        { id: "a", name: "search", args: { q: 1 } },
        { id: "b", name: "search", args: { unparsed_arguments: '{"q":' } },
        { id: "c", name: "my_tool", args: {} },
      ],
    });
  });

  it("an empty list of calls, which vendors refuse, is taken away", async () => {
    expect(await shown([{ role: "assistant", content: "Hm.", toolCalls: [] }, user])).toEqual([
      { role: "assistant", content: "Hm." },
      user,
    ]);
  });

  it("ids of the conversation count as seen for the calls of the run", async () => {
    const provider = new ScriptedProvider(calls({ id: "a", name: "search" }), say("done"));
    const { runner } = setUp(provider, [tool("search", () => "found")]);
    const run = await runner.run(agent("planner"), [asks("a"), answers("a"), user]);
    expect(run.messages.slice(3)).toEqual([
      asks("a_2"),
      { ...answers("a_2", "found") },
      { role: "assistant", content: "done" },
    ]);
    provider.assertFinished();
  });
});
