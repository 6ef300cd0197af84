import { ConfigurationError, type ModelResponse } from "lanekeeper";
import { calls, checkRequest, FakeClock, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

const boom = (): never => {
  throw new Error("boom");
};
const unreadable = (): never => new Proxy({}, { get: boom, ownKeys: boom }) as never;
const lanes = { lanes: () => [] };
const ask = { model: "m", instructions: "", messages: [], tools: [], settings: {} };
const call = { signal: new AbortController().signal, run: { id: "r", path: "0", turn: 1, agent: "a", tenant: "t" } };

describe("Semantics 2.8, 10.1: options of the testing kit are checked where they are given", () => {
  it.each<[string, () => unknown, string]>([
    [
      "a clock's",
      () => new FakeClock(unreadable()),
      "FakeClock: expected a value that can be read, got one that throws",
    ],
    [
      "a clock's that are no truth values",
      () => new FakeClock({ autoAdvance: "yes" as never }),
      'FakeClock.autoAdvance: expected true or false, got "yes"',
    ],
    [
      "a check's",
      () => leakCheck(lanes, unreadable()),
      "leakCheck: expected a value that can be read, got one that throws",
    ],
    [
      "a check's clock",
      () => leakCheck(lanes, { clock: {} as never }),
      "leakCheck.clock: expected an object with settle, assertIdle, got an empty object",
    ],
    [
      "a check's provider",
      () => leakCheck(lanes, { provider: {} as never }),
      "leakCheck.provider: expected an object with assertFinished, got an empty object",
    ],
    [
      "a check's signals",
      () => leakCheck(lanes, { signals: [{} as never] }),
      "leakCheck.signals: expected an AbortSignal, got an empty object",
    ],
    [
      "a script's",
      () => ScriptedProvider.byAgent(unreadable()),
      "ScriptedProvider.byAgent: expected a value that can be read, got one that throws",
    ],
    ["calls that throw", () => calls(unreadable()), "calls: expected a value that can be read, got one that throws"],
  ])("%s", (_whose, make, message) => {
    expect(make).toThrow(new ConfigurationError(message));
  });

  it("a request that throws when it is looked at is told as a problem of it", () => {
    expect(checkRequest(unreadable())).toEqual(["expected a request that can be read: boom"]);
  });

  it("a response that no vendor could send in pieces is streamed as a whole", async () => {
    const odd = { ...say("x"), content: undefined, toolCalls: [null] } as unknown as ModelResponse;
    const deltas: unknown[] = [];
    for await (const delta of new ScriptedProvider(odd).stream(ask, call)) deltas.push(delta);
    expect(deltas).toEqual([{ type: "end", response: odd }]);
  });
});
