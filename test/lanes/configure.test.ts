import { ConfigurationError } from "lanekeeper/lanes";
import { describe, expect, it } from "vitest";
import { type Asked, LanesAtWork, states } from "./lanes-at-work.ts";

describe("Semantics 4.9: bounds change while calls run", () => {
  it("raising a bound wakes waiting calls at once", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const calls = await work.askTimes(4, { tool: "search" });
    work.lanes.configure({ perTool: { search: 3 } });
    expect(work.count("tool:search")).toBe("3/1");
    await work.clock.settle();
    expect(states(calls)).toEqual(["held", "held", "held", "waits"]);
  });

  it("lowering a bound stops nobody, and the next call starts once enough have ended", async () => {
    const work = new LanesAtWork({ perTool: { search: 3 } });
    const calls = await work.askTimes(3, { tool: "search" });
    work.lanes.configure({ perTool: { search: 1 } });
    const next = await work.ask({ tool: "search" });
    expect(work.lane("tool:search")).toMatchObject({ bound: 1, inFlight: 3, waiting: 1 });
    await work.release(calls[0] as Asked);
    await work.release(calls[1] as Asked);
    expect(states([next])).toEqual(["waits"]);
    await work.release(calls[2] as Asked);
    expect(states([next])).toEqual(["held"]);
  });

  it("changes only what is named, and takes a declaration away with undefined", async () => {
    const work = new LanesAtWork({ perTool: { search: 1, pay: 1 }, perTenant: 5 });
    work.lanes.configure({ perTool: { search: undefined } });
    expect(work.lanes.config).toMatchObject({ perTool: { pay: 1 }, perTenant: 5 });
    expect(states(await work.askTimes(3, { tool: "search" }))).toEqual(["held", "held", "held"]);
  });

  it("a bound that is declared while calls run counts those that run already", async () => {
    const work = new LanesAtWork();
    await work.askTimes(2, { tool: "search", tenant: "acme" });
    work.lanes.configure({ perTool: { search: 2 }, perTenant: 3 });
    expect(work.count("tool:search")).toBe("2/0");
    expect(states([await work.ask({ tool: "search" })])).toEqual(["waits"]);
  });

  it("a live turn follows, also one that nobody uses at the moment", async () => {
    const work = new LanesAtWork({ maxConcurrentTools: 1 });
    const busy = work.lanes.turn();
    const idle = work.lanes.turn();
    const calls = await work.askTimes(2, { turn: busy });
    work.lanes.configure({ maxConcurrentTools: 2 });
    await work.clock.settle();
    expect(states(calls)).toEqual(["held", "held"]);
    expect(states(await work.askTimes(3, { turn: idle }))).toEqual(["held", "held", "waits"]);
  });

  it("several tenants that get places at once share what their tool has", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 2 } });
    for (const tenant of ["a", "b"]) await work.ask({ tenant, tool: "other" });
    const a = await work.askTimes(2, { tenant: "a", tool: "search" });
    const b = await work.askTimes(2, { tenant: "b", tool: "search" });
    work.lanes.configure({ perTenant: 3 });
    await work.clock.settle();
    expect(states([...a, ...b])).toEqual(["held", "waits", "held", "waits"]);
  });

  it("is checked as a whole first: nothing changes when anything is wrong", () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    expect(() => work.lanes.configure({ perTool: { search: 4, pay: 0 } })).toThrow(ConfigurationError);
    expect(() => work.lanes.configure({ perTools: {} } as never)).toThrow(/perTools/);
    expect(work.lane("tool:search")?.bound).toBe(1);
  });

  it("a function of the tenant is asked at each admission", async () => {
    let bound = 1;
    const work = new LanesAtWork({ perTenant: () => bound });
    const first = await work.ask({ tenant: "acme" });
    const second = await work.ask({ tenant: "acme" });
    expect(states([second])).toEqual(["waits"]);
    bound = 2;
    const third = await work.ask({ tenant: "acme" });
    expect(states([second, third])).toEqual(["held", "waits"]);
    await work.release(first);
    expect(states([third])).toEqual(["held"]);
  });

  it("a function of the tenant that throws fails the call that asked, and is told when nobody asked", async () => {
    const errors: unknown[] = [];
    const failure = new Error("no such tenant");
    let fails = false;
    const perTenant = (): number => {
      if (fails) throw failure;
      return 1;
    };
    const work = new LanesAtWork({ perTenant }, { onError: (error) => errors.push(error) });
    const holder = await work.ask({ tenant: "acme" });
    const waiting = await work.ask({ tenant: "acme" });
    fails = true;
    expect(states([await work.ask({ tenant: "acme" })])).toEqual(["ConfigurationError"]);
    await work.release(holder);
    expect(states([waiting])).toEqual(["held"]);
    expect((errors[0] as Error).cause).toBe(failure);
    expect(() => work.lanes.configure({ perTool: { search: 1 } })).toThrow(ConfigurationError);
  });

  it("a function of the tenant must not use the lanes itself", async () => {
    const seen: unknown[] = [];
    const work: LanesAtWork = new LanesAtWork({
      perTenant: () => {
        try {
          work.lanes.configure({});
        } catch (error) {
          seen.push(error);
        }
        return 1;
      },
    });
    await work.ask({ tenant: "acme" });
    expect(seen[0]).toBeInstanceOf(ConfigurationError);
  });
});
