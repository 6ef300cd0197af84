import { describe, expect, it } from "vitest";
import { type Asked, LanesAtWork, states } from "./lanes-at-work.ts";

describe("Semantics 5.2: calls with one exclusive key never overlap, but for a call and its own callers", () => {
  it("two of them run one after the other, whatever their tools and turns", async () => {
    const work = new LanesAtWork();
    const first = await work.ask({ tool: "a", turn: work.lanes.turn(), exclusive: "run 1" });
    const second = await work.ask({ tool: "b", turn: work.lanes.turn(), exclusive: "run 1" });
    const other = await work.ask({ tool: "a", exclusive: "run 2" });
    const free = await work.ask({ tool: "a" });
    expect(states([first, second, other, free])).toEqual(["held", "waits", "held", "held"]);
    await work.release(first);
    expect(states([second])).toEqual(["held"]);
  });

  it("one nested in another borrows its place, at any depth", async () => {
    const work = new LanesAtWork();
    const outer = await work.ask({ exclusive: "run" });
    const between = await work.ask({ tool: "agent" }, { within: outer.held });
    const inner = await work.ask({ exclusive: "run" }, { within: between.held });
    const sibling = await work.ask({ exclusive: "run" }, { within: outer.held });
    expect(states([outer, between, inner, sibling])).toEqual(["held", "held", "held", "waits"]);
    await work.release(inner);
    expect(states([sibling])).toEqual(["held"]);
  });

  it("one waiting for its key holds no other place", async () => {
    const work = new LanesAtWork({ perTool: { pay: 1 } });
    await work.ask({ exclusive: "run" });
    await work.ask({ exclusive: "run", tool: "pay" });
    expect(states([await work.ask({ tool: "pay" })])).toEqual(["held"]);
  });
});

describe("Semantics 5.3: calls to one tool with identical arguments run one after the other, and all of them run", () => {
  it("across turns and tenants, in the order of asking within a tenant", async () => {
    const work = new LanesAtWork();
    const same = { tool: "pay", arguments: '{"to":"x"}' };
    const calls = [await work.ask({ ...same, turn: work.lanes.turn() }), await work.ask(same), await work.ask(same)];
    const others = [await work.ask({ ...same, arguments: '{"to":"y"}' }), await work.ask({ ...same, tool: "refund" })];
    expect(states(others)).toEqual(["held", "held"]);
    for (let next = 0; next < 3; next += 1) {
      expect(states(calls).filter((state) => state !== "given back")[0]).toBe("held");
      expect(states(calls).filter((state) => state === "held")).toHaveLength(1);
      await work.release(calls[next] as Asked);
    }
  });

  it("a tool's name and its arguments are never taken for another's", async () => {
    const work = new LanesAtWork();
    expect(
      states([await work.ask({ tool: "a", arguments: "bc" }), await work.ask({ tool: "ab", arguments: "c" })]),
    ).toEqual(["held", "held"]);
  });

  it("takes all or nothing: who waits for the same arguments holds no place of its tool", async () => {
    const work = new LanesAtWork({ perTool: { pay: 2 } });
    await work.askTimes(3, { tool: "pay", arguments: "{}" });
    expect(states([await work.ask({ tool: "pay", arguments: "[]" })])).toEqual(["held"]);
  });

  it("is lent to a nested call with the same arguments", async () => {
    const work = new LanesAtWork();
    const outer = await work.ask({ tool: "pay", arguments: "{}" });
    const inner = await work.ask({ tool: "pay", arguments: "{}" }, { within: outer.held });
    expect(states([inner])).toEqual(["held"]);
  });

  it("is part of finding deadlocks", async () => {
    const work = new LanesAtWork();
    const a = await work.ask({ tool: "pay", arguments: "a" });
    const b = await work.ask({ tool: "pay", arguments: "b" });
    const aWantsB = await work.ask({ tool: "pay", arguments: "b" }, { within: a.held });
    const bWantsA = await work.ask({ tool: "pay", arguments: "a" }, { within: b.held });
    expect(states([aWantsB, bWantsA])).toEqual(["waits", "LaneDeadlockError"]);
  });

  it("of many that wait for the same, each release lets one go, also when tenants fill up in between", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { pay: 2 } });
    const same = { tool: "pay", arguments: "{}" };
    const first = await work.ask({ ...same, tenant: "a" });
    const waiting = await Promise.all(["a", "b", "c"].map((tenant) => work.ask({ ...same, tenant })));
    const blocker = await work.ask({ tenant: "b" });
    await work.release(first);
    expect(states(waiting).filter((state) => state === "held")).toHaveLength(1);
    for (const call of waiting) await work.release(call);
    await work.release(blocker);
    for (const call of waiting) await work.release(call);
    for (const call of waiting) await work.release(call);
    expect(states(waiting)).toEqual(["given back", "given back", "given back"]);
  });
});
