import { ConfigurationError, InProcessLaneStore, Lanes } from "lanekeeper/lanes";
import { describe, expect, it } from "vitest";
import { LanesAtWork } from "./lanes-at-work.ts";

const work = new LanesAtWork({ perTool: { search: 1 } });
const { lanes } = work;
const foreign = new Lanes();
const bad: [string, () => unknown, RegExp][] = [
  ["a bound of 0", () => new Lanes({ perTenant: 0 }), /perTenant: expected .*got 0/],
  ["an unknown field", () => new Lanes({ perTools: {} } as never), /perTools/],
  ["an unknown option", () => new Lanes({}, { klock: 1 } as never), /lanes\.klock/],
  ["a store that is none", () => new Lanes({}, { store: {} as never }), /lanes\.store: expected a LaneStore/],
  ["an onError that is no function", () => new Lanes({}, { onError: 1 as never }), /lanes\.onError/],
  ["an unknown option of the store", () => new InProcessLaneStore({ clok: 1 } as never), /store\.clok/],
  ["a change that could never work", () => lanes.configure({ maxWaiting: -1 }), /maxWaiting/],
  ["no request to tryAcquire", () => lanes.tryAcquire(undefined as never), /request: expected an object/],
  [
    "a signal to tryAcquire",
    () => lanes.tryAcquire({}, { signal: new AbortController().signal } as never),
    /options\.signal/,
  ],
];
const badRequests: [string, unknown, RegExp][] = [
  ["none", undefined, /request: expected an object/],
  ["a text", "search", /request: expected an object/],
  ["a misspelt key", { tol: "search" }, /request\.tol: unknown option/],
  ["a tool that is no text", { tool: 7 }, /request\.tool: expected a text, got 7/],
  ["a tenant that is null", { tenant: null }, /request\.tenant/],
  ["a turn that is none", { turn: {} }, /request\.turn: expected a turn/],
  ["a turn of other lanes", { turn: foreign.turn() }, /request\.turn: expected a turn of the same lanes/],
  [
    "one that throws when it is read",
    {
      get tool() {
        throw new Error("no");
      },
    },
    /request: expected values that can be read/,
  ],
];
const badOptions: [string, unknown, RegExp][] = [
  ["a number", 7, /options: expected an object/],
  ["a misspelt key", { sginal: 1 }, /options\.sginal: unknown option/],
  ["a signal that is none", { signal: {} }, /options\.signal/],
  ["a caller that is none", { within: {} }, /options\.within: expected a permit/],
  [
    "a caller of other lanes",
    { within: foreign.tryAcquire({}) },
    /options\.within: expected a permit of the same lanes/,
  ],
];

describe("Semantics 4.1: what could never work is a ConfigurationError that names the place", () => {
  it.each(bad)("refuses %s at once", (_, act, message) => {
    expect(act).toThrow(ConfigurationError);
    expect(act).toThrow(message);
  });

  it.each(badRequests)(
    "a request may not be %s: acquire and use reject, and never throw",
    async (_, request, message) => {
      await expect(lanes.acquire(request as never)).rejects.toThrow(message);
      await expect(lanes.use(request as never, () => {})).rejects.toBeInstanceOf(ConfigurationError);
      expect(work.count("tool:search")).toBe("0/0");
    },
  );

  it.each(badOptions)("the options may not be %s", async (_, options, message) => {
    await expect(lanes.acquire({}, options as never)).rejects.toThrow(message);
    await expect(lanes.use({}, () => {}, options as never)).rejects.toBeInstanceOf(ConfigurationError);
  });

  it("a body must be a function", async () => {
    await expect(lanes.use({}, "search" as never)).rejects.toThrow(/body: expected a function/);
  });

  it("a key that is undefined is as good as left out", async () => {
    const permit = await lanes.acquire({ tool: undefined, turn: undefined } as never, { within: undefined } as never);
    permit.release();
  });
});
