import { Lanes } from "lanekeeper/lanes";
import { describe, expect, it } from "vitest";
import { LanesAtWork, states } from "./lanes-at-work.ts";

describe("Semantics 4.12: the prices of lanes are real, and no higher than stated", () => {
  it("bounds hold per process: two Lanes without a store make twice the bound", async () => {
    const pair = [new Lanes({ perTool: { search: 1 } }), new Lanes({ perTool: { search: 1 } })];
    const held = pair.map((lanes) => lanes.tryAcquire({ tool: "search" }));
    expect(held.every((permit) => permit !== undefined)).toBe(true);
    expect(pair.map((lanes) => lanes.tryAcquire({ tool: "search" }))).toEqual([undefined, undefined]);
  });

  it("a caller keeps the places that it has not lent", async () => {
    const work = new LanesAtWork({ perTool: { agent: 1, search: 1 } });
    const caller = await work.ask({ tool: "agent" });
    await work.ask({ tool: "search" }, { within: caller.held });
    // It only waits, and yet nobody else may be an agent meanwhile.
    expect(states([await work.ask({ tool: "agent" })])).toEqual(["waits"]);
  });

  it("a place can be free while each waiting call needs another lane that is full", async () => {
    const work = new LanesAtWork({ perTool: { a: 1 }, perResource: { r: 1 } });
    await work.ask({ tool: "a" });
    await work.ask({ tool: "a", resource: "r" });
    expect(work.count("resource:r")).toBe("0/1");
    expect(states([await work.ask({ resource: "r" })])).toEqual(["held"]);
  });

  it("after a body was abandoned, a bound counts the bodies that are known, and the lane tells the others", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const deaf = await work.ask({ tool: "search" });
    deaf.held.abandon();
    expect(states([await work.ask({ tool: "search" })])).toEqual(["held"]);
    expect(work.lane("tool:search")).toMatchObject({ bound: 1, inFlight: 1, abandoned: 1 });
  });

  it("maxWaitSeconds costs a timer for each waiting call, and without it there is none", async () => {
    const limited = new LanesAtWork({ perTool: { search: 1 }, maxWaitSeconds: 9 });
    const free = new LanesAtWork({ perTool: { search: 1 } });
    for (const work of [limited, free]) await work.askTimes(4, { tool: "search" });
    expect([limited, free].map(({ clock }) => clock.pending.foreground)).toEqual([3, 0]);
  });

  it("a bare acquire nests only when `within` names its caller: out of reach of deadlock detection", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    await work.ask({ tool: "search" });
    // Whoever holds the first may well wait for the second for ever, and nobody can know.
    expect(states([await work.ask({ tool: "search" })])).toEqual(["waits"]);
  });
});
