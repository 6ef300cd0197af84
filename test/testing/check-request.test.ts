import { checkRequest } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import type { Message } from "../../src/protocol/message.ts";
import type { ModelRequest } from "../../src/protocol/model.ts";

const request = (messages: unknown[], overrides: Record<string, unknown> = {}): ModelRequest => ({
  model: "m",
  instructions: "",
  messages: messages as Message[],
  tools: [],
  settings: {},
  ...overrides,
});
const user = (...content: unknown[]): unknown => ({ role: "user", content: content.length === 0 ? "Go." : content[0] });
const call = (id: unknown, args: unknown = {}, name: unknown = "search"): unknown => ({ id, name, args });
const asks = (...toolCalls: unknown[]): unknown => ({ role: "assistant", content: "", toolCalls });
const result = (callId: unknown, overrides: Record<string, unknown> = {}): unknown => ({
  role: "tool",
  callId,
  name: "search",
  content: "found",
  isError: false,
  ...overrides,
});
const problems = (...messages: unknown[]): string[] => checkRequest(request(messages));

describe("checkRequest: what a strict vendor refuses", () => {
  it("accepts a sound transcript with every kind of message and part", () => {
    expect(
      checkRequest(
        request(
          [
            { role: "system", content: "Be brief." },
            user([
              { type: "text", text: "Look 🗾" },
              { type: "file", mediaType: "image/png", data: new Uint8Array([1]) },
              { type: "file", mediaType: "image/png", data: "AQ==" },
            ]),
            { ...(asks(call("a"), call("b", '{"q":"x"}')) as object), vendor: { signature: "s", parts: [null, 1] } },
            result("a"),
            result("b", { content: [{ type: "text", text: "" }], isError: true }),
            { role: "assistant", content: "Now the other." },
            user(),
            asks(call("c")),
            result("c", { content: "" }),
          ],
          {
            tools: [{ name: "search", description: "Look.", inputSchema: { type: "object" } }],
            output: { type: "object" },
            settings: { temperature: 0, stop: ["x"] },
          },
        ),
      ),
    ).toEqual([]);
  });

  it("finds a call without a result, at the end, in the middle, or answered too late", () => {
    expect(problems(user(), asks(call("a"), call("b")), result("a"))).toEqual(['messages[1]: call "b" has no result']);
    expect(problems(asks(call("a")), user(), asks(call("b")), result("b"))).toEqual([
      'messages[0]: call "a" has no result',
    ]);
    expect(problems(asks(call("a"), call("b")), result("a"), user(), result("b"))).toEqual([
      'messages[0]: call "b" is answered only in messages[3], with something in between',
      'messages[3]: a result for "b" that no assistant message right before it asked for',
    ]);
  });

  it("finds a result that nobody asked for, one too many, and results out of call order", () => {
    expect(problems(user(), result("x"))).toEqual([
      'messages[1]: a result for "x" that no assistant message right before it asked for',
    ]);
    expect(problems(asks(call("a")), result("a"), result("x"))).toEqual([
      'messages[2]: a result for "x", which messages[0] did not ask for',
    ]);
    expect(problems(asks(call("a"), call("b")), result("a"), result("b"), result("a"))).toEqual([
      'messages[3]: a second result for "a"',
    ]);
    expect(problems(asks(call("a"), call("b"), call("c")), result("a"), result("c"), result("b"))).toEqual([
      "messages[0]: results out of call order: expected a, b, c, got a, c, b",
    ]);
  });

  it("finds an id that is used twice in the whole transcript, empty or missing", () => {
    expect(problems(asks(call("a")), result("a"), asks(call("a")), result("a"))).toEqual([
      'messages[2].toolCalls[0].id: "a" is the id of messages[0].toolCalls[0] too',
    ]);
    expect(problems(asks(call("a"), call("a")), result("a"), result("a"))).toEqual([
      'messages[0].toolCalls[1].id: "a" is the id of messages[0].toolCalls[0] too',
      'messages[2]: a second result for "a"',
    ]);
    expect(problems(asks(call("")))).toEqual(['messages[0].toolCalls[0].id: expected an id, got ""']);
    expect(problems(asks(call(undefined))).join()).toMatch(/toolCalls\[0\]\.id: expected an id, got undefined/);
  });

  it("keeps ids like constructor and __proto__ apart from what every object has", () => {
    expect(problems(asks(call("constructor"), call("__proto__")), result("constructor"), result("__proto__"))).toEqual(
      [],
    );
  });

  it.each([[null], [undefined], [[]], [5]])("finds content that is %j", (content) => {
    expect(problems(user(content)).join()).toMatch(/messages\[0\]\.content/);
    expect(problems(asks(call("a")), result("a", { content })).join()).toMatch(/messages\[1\]\.content/);
    expect(problems({ role: "assistant", content }).join()).toMatch(/messages\[0\]\.content: expected text, got/);
  });

  it("finds parts where only text may stand, and parts of no known kind", () => {
    const parts = [{ type: "text", text: "x" }];
    expect(problems({ role: "assistant", content: parts })).toHaveLength(1);
    expect(problems({ role: "system", content: parts })).toHaveLength(1);
    expect(problems(user([{ type: "image", url: "x" }])).join()).toMatch(
      /content\[0\]: expected a text part or a file/,
    );
    expect(problems(user([{ type: "file", mediaType: "a/b", data: 5 }])).join()).toMatch(/content\[0\]\.data/);
    expect(problems(user([{ type: "text", text: "x", more: undefined }])).join()).toMatch(/content\[0\]\.more/);
  });

  it.each([[null], [undefined], [[]], ["[]"], ["null"], [""], ["  "], ['{"a":'], ['{"p":1}{"p":2}'], [5], [new Map()]])(
    "finds arguments that are %j",
    (args) => {
      expect(problems(asks({ id: "a", name: "search", args }), result("a")).join()).toMatch(
        /toolCalls\[0\]\.args: expected an object, or JSON text of one/,
      );
    },
  );

  it("finds what JSON does not carry, wherever it stands", () => {
    const circular: Record<string, unknown> = {};
    circular.self = { circular };
    const getter = Object.defineProperty({}, "x", { enumerable: true, get: () => 1 });
    let deep: unknown = 1;
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
    for (const [value, expected] of [
      [{ x: undefined }, /args\.x: expected plain JSON, got undefined/],
      [{ x: 10n }, /args\.x: expected plain JSON, got 10n/],
      [{ x: [() => 1] }, /args\.x\[0\]: expected plain JSON, got a function/],
      [{ x: Number.NaN }, /args\.x: expected plain JSON, got NaN/],
      [{ x: new Date(0) }, /args\.x: expected plain JSON, got an instance of Date/],
      [{ x: new Array(1) }, /args\.x\[0\]: expected plain JSON, got undefined/],
      [getter, /args\.x: expected a plain member, got a getter/],
      [circular, /contains itself/],
      [{ deep }, /nested more than 500 deep/],
    ] as const) {
      expect(problems(asks(call("a", value)), result("a")).join("\n")).toMatch(expected);
    }
    const twice = { shared: true };
    expect(problems(asks(call("a", { one: twice, two: twice })), result("a"))).toEqual([]);
    expect(problems({ role: "assistant", content: "", vendor: { x: undefined } }).join()).toMatch(/vendor\.x/);
    expect(checkRequest(request([user()], { settings: { x: undefined } })).join()).toMatch(/settings\.x/);
    expect(checkRequest(request([user()], { output: undefined })).join()).toMatch(/output: expected plain JSON/);
  });

  it("finds half of a surrogate pair, and leaves whole pairs alone", () => {
    expect(problems(user("a\ud83d"))).toEqual(["messages[0].content: text with half of a surrogate pair"]);
    expect(problems(asks(call("a")), result("a", { content: "\ude00b" }))).toHaveLength(1);
    expect(problems(asks(call("a", { "\ud83d": 1 })), result("a"))).toHaveLength(1);
    expect(problems(user("😀"))).toEqual([]);
  });

  it("finds a result whose name is missing or is not its call's, and an isError that is neither", () => {
    expect(problems(asks(call("a")), result("a", { name: "book" }))).toEqual([
      'messages[1].name: expected "search" as in its call, got "book"',
    ]);
    expect(problems(asks(call("a", {}, "")), result("a", { name: "" })).join()).toMatch(/toolCalls\[0\]\.name/);
    const nameless = result("a") as Record<string, unknown>;
    delete nameless.name;
    expect(problems(asks(call("a")), nameless)).toHaveLength(1);
    expect(problems(asks(call("a")), result("a", { isError: 1 })).join()).toMatch(/isError/);
  });

  it("finds an empty list of calls, a role nobody knows, and messages that are none", () => {
    expect(problems(asks())).toHaveLength(1);
    expect(problems({ role: "function", content: "x" })).toHaveLength(1);
    expect(problems(null, "text")).toHaveLength(2);
  });

  it("finds what is wrong beside the messages", () => {
    const tool = { name: "search", description: "Look.", inputSchema: {} };
    expect(checkRequest(request([], { model: 5 })).join()).toMatch(/model: expected text/);
    expect(checkRequest(request([], { instructions: null })).join()).toMatch(/instructions: expected text/);
    expect(checkRequest(request([], { settings: null })).join()).toMatch(/settings: expected an object/);
    expect(checkRequest(request([], { messages: {} })).join()).toMatch(/messages: expected a list/);
    expect(checkRequest(request([], { tools: undefined })).join()).toMatch(/tools: expected a list/);
    expect(checkRequest(request([], { tools: [tool, tool] })).join()).toMatch(/search is there twice/);
    expect(checkRequest(request([], { tools: [{ ...tool, name: "a b" }] })).join()).toMatch(/tools\[0\]\.name/);
    expect(checkRequest(request([], { tools: [null] }))).toHaveLength(3);
    expect(checkRequest(undefined as never)).toEqual(["expected a request, got undefined"]);
  });

  it("tells all problems at once", () => {
    expect(problems(user(null), asks(call("a", "["), call("b")), result("b", { name: "x" }), result("z"))).toHaveLength(
      5,
    );
  });
});
