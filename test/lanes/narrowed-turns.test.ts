import { ConfigurationError } from "lanekeeper/lanes";
import { describe, expect, it } from "vitest";
import { type Asked, LanesAtWork, states } from "./lanes-at-work.ts";

const heldOf = (asked: Asked[]): number => states(asked).filter((state) => state === "held").length;

describe("Semantics 4.2: what an agent narrows it narrows for its own turn, and for everything below it", () => {
  it("a turn bounds its calls by 8 when nothing is declared, by what is configured, and by what narrows it", async () => {
    const plain = new LanesAtWork();
    expect(heldOf(await plain.askTimes(10, { turn: plain.lanes.turn() }))).toBe(8);
    const work = new LanesAtWork({ maxConcurrentTools: 4 });
    expect(heldOf(await work.askTimes(6, { turn: work.lanes.turn() }))).toBe(4);
    expect(heldOf(await work.askTimes(6, { turn: work.lanes.turn({ maxConcurrentTools: 2 }) }))).toBe(2);
    expect(heldOf(await work.askTimes(6, { turn: work.lanes.turn({ maxConcurrentTools: 99 }) }))).toBe(4);
  });

  it("a narrowed tool is a lane of the turn, and the shared one stays as declared", async () => {
    const work = new LanesAtWork({ perTool: { search: 4 } });
    const turn = work.lanes.turn({ perTool: { search: 1 } }, { name: "narrow" });
    expect(heldOf(await work.askTimes(2, { turn, tool: "search" }))).toBe(1);
    expect(work.lane("turn-tool:narrow/search")).toMatchObject({ bound: 1, inFlight: 1, waiting: 1 });
    expect(heldOf(await work.askTimes(4, { turn: work.lanes.turn(), tool: "search" }))).toBe(3);
  });

  it("a tool that is narrowed above what is shared is not widened", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    expect(heldOf(await work.askTimes(3, { turn: work.lanes.turn({ perTool: { search: 9 } }), tool: "search" }))).toBe(
      1,
    );
  });

  it("a narrowed resource is a lane of the turn, across its tools", async () => {
    const work = new LanesAtWork();
    const turn = work.lanes.turn({ perResource: { maps: 1 } });
    const a = await work.ask({ turn, tool: "a", resource: "maps" });
    const b = await work.ask({ turn, tool: "b", resource: "maps" });
    const outside = await work.ask({ tool: "b", resource: "maps" });
    expect(states([a, b, outside])).toEqual(["held", "waits", "held"]);
  });

  it("a narrowed perTenant is a bound on the turn", async () => {
    const work = new LanesAtWork({ perTenant: 5 });
    expect(heldOf(await work.askTimes(4, { turn: work.lanes.turn({ perTenant: 2 }), tenant: "acme" }))).toBe(2);
    const byTenant = work.lanes.turn({ perTenant: (tenant) => tenant.length });
    expect(heldOf(await work.askTimes(4, { turn: byTenant, tenant: "xyz" }))).toBe(3);
    expect(work.count("tenant:acme")).toBe("2/2");
  });

  it("a turn bounds everything below it, also in turns of their own", async () => {
    const work = new LanesAtWork();
    const above = work.lanes.turn({ maxConcurrentTools: 2, perTool: { search: 1 } });
    const caller = await work.ask({ turn: above, tool: "agent" });
    const below = work.lanes.turn();
    const nested = await work.askTimes(3, { turn: below, tool: "search" }, { within: caller.held });
    // The turn above has two places, one of them lent; its narrowed tool has one.
    expect(states(nested)).toEqual(["held", "waits", "waits"]);
    expect(heldOf(await work.askTimes(3, { turn: below, tool: "other" }, { within: caller.held }))).toBe(1);
  });

  it("the same turn twice on the way down is one lane", async () => {
    const work = new LanesAtWork();
    const turn = work.lanes.turn({ maxConcurrentTools: 1 });
    const caller = await work.ask({ turn });
    expect(states([await work.ask({ turn }, { within: caller.held })])).toEqual(["held"]);
  });

  it("two turns do not know each other", async () => {
    const work = new LanesAtWork({ maxConcurrentTools: 1 });
    const calls = [await work.ask({ turn: work.lanes.turn() }), await work.ask({ turn: work.lanes.turn() })];
    expect(states(calls)).toEqual(["held", "held"]);
  });

  it("a turn has the name it was given, or a number of its own", async () => {
    const work = new LanesAtWork();
    const names = [work.lanes.turn().name, work.lanes.turn({}, { name: "planner" }).name, work.lanes.turn().name];
    expect(names[1]).toBe("planner");
    expect(new Set(names).size).toBe(3);
  });

  it("a narrowing that could never work is refused", () => {
    const { lanes } = new LanesAtWork();
    expect(() => lanes.turn({ perTool: { search: 0 } })).toThrow(ConfigurationError);
    expect(() => lanes.turn({ perTools: {} } as never)).toThrow(ConfigurationError);
    expect(() => lanes.turn({}, { nam: "x" } as never)).toThrow(/nam/);
    expect(() => lanes.turn({}, { name: 7 } as never)).toThrow(ConfigurationError);
  });
});
