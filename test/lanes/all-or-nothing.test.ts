import { describe, expect, it } from "vitest";
import { LanesAtWork, states } from "./lanes-at-work.ts";

describe("Semantics 4.4: a call takes all of its places in one step, and holds none while it waits", () => {
  it("a call that waits for its tool holds no place of its tenant", async () => {
    const work = new LanesAtWork({ perTenant: 2, perTool: { narrow: 1 } });
    const first = await work.ask({ tenant: "acme", tool: "narrow" });
    const second = await work.ask({ tenant: "acme", tool: "narrow" });
    expect(states([first, second])).toEqual(["held", "waits"]);
    expect(work.count("tenant:acme")).toBe("1/1");
    expect(states([await work.ask({ tenant: "acme", tool: "other" })])).toEqual(["held"]);
  });

  it("a tenant's places are never spent on calls that only queue for a narrow tool", async () => {
    const work = new LanesAtWork({ perTenant: 4, perTool: { narrow: 1 } });
    await work.askTimes(20, { tenant: "acme", tool: "narrow" });
    const others = await work.askTimes(3, { tenant: "acme", tool: "wide" });
    expect(states(others)).toEqual(["held", "held", "held"]);
    expect(work.count("tenant:acme")).toBe("4/19");
  });

  it("takes a place in every lane at the grant, and gives every one back at the release", async () => {
    const work = new LanesAtWork({ perTenant: 3, perTool: { search: 3 }, perResource: { maps: 3 } });
    const turn = work.lanes.turn({}, { name: "t" });
    const call = await work.ask({ tenant: "acme", turn, tool: "search", resource: "maps" });
    const labels = ["tenant:acme", "turn:t", "tool:search", "resource:maps"];
    expect(labels.map((label) => work.count(label))).toEqual(["1/0", "1/0", "1/0", "1/0"]);
    await work.release(call);
    expect(labels.map((label) => work.count(label))).toEqual(["0/0", "0/0", "0/0", "0/0"]);
  });

  it("two calls that want two lanes in opposite order never hold what the other waits for", async () => {
    const work = new LanesAtWork({ perTool: { a: 1 }, perResource: { r: 1 } });
    const both = { tool: "a", resource: "r" };
    const tool = await work.ask({ tool: "a" });
    const resource = await work.ask({ resource: "r" });
    const first = await work.ask(both);
    const second = await work.ask(both);
    await work.release(tool);
    expect(states([first, second])).toEqual(["waits", "waits"]);
    expect(work.count("tool:a")).toBe("0/2");
    await work.release(resource);
    expect(states([first, second])).toEqual(["held", "waits"]);
    await work.release(first);
    expect(states([second])).toEqual(["held"]);
  });
});
