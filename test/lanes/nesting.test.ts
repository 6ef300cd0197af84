import { ConfigurationError, Lanes } from "lanekeeper/lanes";
import { Gate, Witness } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { LanesAtWork, states } from "./lanes-at-work.ts";

describe("Semantics 4.6: nested work uses the places of its callers, and is counted once", () => {
  it("with every bound at 1, a body nested three deep by async context completes", async () => {
    const lanes = new Lanes({ perTenant: 1, perTool: { search: 1 }, perResource: { maps: 1 } });
    const request = { tenant: "acme", tool: "search", resource: "maps", arguments: "{}", exclusive: "run" };
    const witness = new Witness();
    const nest = (depth: number): Promise<string> =>
      lanes.use({ ...request, turn: lanes.turn({ maxConcurrentTools: 1 }) }, async () => {
        const below = depth === 0 ? "" : await nest(depth - 1);
        return witness.body(`depth ${depth}`, () => `${below}${depth}`);
      });
    expect(await nest(3)).toBe("0123");
    expect(lanes.snapshot().every(({ inFlight, waiting }) => inFlight + waiting === 0)).toBe(true);
  });

  it("the same by hand, with `within`", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 1 } });
    const outer = await work.ask({ tenant: "acme", tool: "search" });
    const middle = await work.ask({ tool: "search" }, { within: outer.held });
    const inner = await work.ask({ tool: "search" }, { within: middle.held });
    expect(states([outer, middle, inner])).toEqual(["held", "held", "held"]);
    expect(work.count("tool:search")).toBe("1/0");
    for (const one of [inner, middle, outer]) await work.release(one);
    expect(work.count("tool:search")).toBe("0/0");
  });

  it("lends lane by lane: a nested call needs places of its own where no caller stands", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { agent: 1, search: 1 } });
    const busy = await work.ask({ tool: "search" });
    const caller = await work.ask({ tenant: "acme", tool: "agent" });
    const nested = await work.ask({ tool: "search" }, { within: caller.held });
    expect(states([nested])).toEqual(["waits"]);
    await work.release(busy);
    expect(states([nested])).toEqual(["held"]);
    expect(work.count("tenant:acme")).toBe("1/0");
    expect(work.count("tool:agent")).toBe("1/0");
  });

  it("of several nested calls at once the first borrows, and the others wait for the lent place or one of their own", async () => {
    const work = new LanesAtWork({ perTenant: 2 });
    const caller = await work.ask({ tenant: "acme" });
    const nested = await work.askTimes(3, {}, { within: caller.held });
    expect(states(nested)).toEqual(["held", "held", "waits"]);
    expect(work.count("tenant:acme")).toBe("2/1");
    await work.release(nested[0] as never);
    expect(states(nested)).toEqual(["given back", "held", "held"]);
    expect(work.count("tenant:acme")).toBe("2/0");
  });

  it("working bodies never exceed a bound: a caller with a nested call in flight counts as waiting", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const caller = await work.ask({ tool: "search" });
    const nested = await work.ask({ tool: "search" }, { within: caller.held });
    const stranger = await work.ask({ tool: "search" });
    await work.release(nested);
    expect(states([stranger])).toEqual(["waits"]);
    await work.release(caller);
    expect(states([stranger])).toEqual(["held"]);
  });

  it("a caller that ends while its place is lent passes it to the borrower", async () => {
    const work = new LanesAtWork({ perTenant: 1 });
    const caller = await work.ask({ tenant: "acme" });
    const nested = await work.ask({}, { within: caller.held });
    const stranger = await work.ask({ tenant: "acme" });
    await work.release(caller);
    expect(states([stranger])).toEqual(["waits"]);
    expect(work.lane("tenant:acme")).toMatchObject({ inFlight: 1, waiting: 1 });
    expect(work.lane("tenant:acme")?.holders).toHaveLength(1);
    await work.release(nested);
    expect(states([stranger])).toEqual(["held"]);
  });

  it("a call in the middle that ends first ties its borrower to its own lender", async () => {
    const work = new LanesAtWork({ perTenant: 1 });
    const outer = await work.ask({ tenant: "acme" });
    const middle = await work.ask({}, { within: outer.held });
    const inner = await work.ask({}, { within: middle.held });
    await work.release(middle);
    const second = await work.ask({}, { within: outer.held });
    expect(states([inner, second])).toEqual(["held", "waits"]);
    await work.release(inner);
    expect(states([second])).toEqual(["held"]);
  });

  it("a nested call stands in its callers' turns, too", async () => {
    const work = new LanesAtWork();
    const turn = work.lanes.turn({ maxConcurrentTools: 1 }, { name: "outer" });
    const caller = await work.ask({ turn });
    const below = work.lanes.turn({ maxConcurrentTools: 5 });
    const nested = await work.askTimes(2, { turn: below }, { within: caller.held });
    expect(states(nested)).toEqual(["held", "waits"]);
    expect(work.count("turn:outer")).toBe("1/1");
  });

  it("a nested call has its caller's tenant, and is refused when it names another", async () => {
    const work = new LanesAtWork({ perTenant: 3 });
    const caller = await work.ask({ tenant: "acme" });
    expect((await work.ask({}, { within: caller.held })).held.tenant).toBe("acme");
    expect((await work.ask({ tenant: "acme" }, { within: caller.held })).held.tenant).toBe("acme");
    const other = await work.ask({ tenant: "other" }, { within: caller.held });
    expect(other.error).toBeInstanceOf(ConfigurationError);
    expect((other.error as Error).message).toContain('"acme"');
    expect(work.lane("tenant:other")).toBeUndefined();
  });

  it("a bare acquire nests inside a body of `use`, and is nobody's caller itself", async () => {
    const work = new LanesAtWork({ perTenant: 1 });
    const gate = new Gate();
    const body = work.lanes.use({ tenant: "acme" }, async () => {
      const inside = await work.lanes.acquire({});
      inside.release();
      await gate.wait("body");
    });
    await work.clock.promptly(gate.arrived("body"));
    const bare = await work.ask({ tenant: "acme" });
    expect(states([bare])).toEqual(["waits"]);
    gate.open("body", undefined);
    await body;
    await work.clock.settle();
    const notNested = await work.ask({ tenant: "acme" });
    expect(states([bare, notNested])).toEqual(["held", "waits"]);
  });

  it("lanes of another object do not lend", async () => {
    const one = new LanesAtWork({ perTenant: 1 });
    const other = new LanesAtWork({ perTenant: 1 }, { clock: one.clock });
    const gate = new Gate();
    const holder = await other.ask({ tenant: "acme" });
    const body = one.lanes.use({ tenant: "acme" }, () => other.lanes.use({ tenant: "acme" }, () => gate.wait("inner")));
    await one.clock.settle();
    expect(gate.waiting).toEqual([]);
    await other.release(holder);
    await one.clock.promptly(gate.arrived("inner"));
    // Across the other's lanes the caller is still found.
    gate.open("inner", undefined);
    await body;
  });

  it("a caller that has given its places back is not a caller any more", async () => {
    const work = new LanesAtWork({ perTenant: 1 });
    const caller = await work.ask({ tenant: "acme" });
    await work.release(caller);
    const holder = await work.ask({ tenant: "acme" });
    const late = await work.ask({ tenant: "acme" }, { within: caller.held });
    expect(states([holder, late])).toEqual(["held", "waits"]);
  });
});
