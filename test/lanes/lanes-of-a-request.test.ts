import { describe, expect, it } from "vitest";
import { type Asked, LanesAtWork, states } from "./lanes-at-work.ts";

describe("Semantics 4.3: a call stands in every lane that applies, in one fixed order, and the tightest decides", () => {
  const lanesOf = (work: LanesAtWork): string[] =>
    work.lanes
      .snapshot()
      .filter(({ holders }) => holders.length > 0)
      .map(({ lane }) => lane);

  it("stands in the lanes of tenant, turn, narrowed tool, tool, resource, arguments and exclusive, and in no other", async () => {
    const work = new LanesAtWork({ perTenant: 9, perTool: { search: 9, other: 9 }, perResource: { maps: 9 } });
    const turn = work.lanes.turn({ perTool: { search: 5 } }, { name: "t" });
    await work.ask({ tenant: "acme", turn, tool: "search", resource: "maps", arguments: "{}", exclusive: "run" });
    expect(lanesOf(work).sort()).toEqual([
      expect.stringMatching(/^arguments:search#[0-9a-f]{8}$/),
      "exclusive:run",
      "resource:maps",
      "tenant:acme",
      "tool:search",
      "turn-tool:t/search",
      "turn:t",
    ]);
  });

  it("each of tenant, turn, tool and resource may be left out", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 1 }, perResource: { maps: 1 } });
    const free = await work.askTimes(3, {});
    expect(states(free)).toEqual(["held", "held", "held"]);
    expect(lanesOf(work)).toEqual([]);
  });

  it.each([
    ["tenant", { tenant: "acme" }],
    ["tool", { tool: "search" }],
    ["resource", { resource: "maps" }],
  ])("the tightest lane decides when it is the %s", async (_, only) => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 1 }, perResource: { maps: 1 } });
    const blocker = await work.ask(only);
    const call = await work.ask({ tenant: "acme", tool: "search", resource: "maps" });
    expect(states([call])).toEqual(["waits"]);
    await work.release(blocker);
    expect(states([call])).toEqual(["held"]);
  });

  it("a wait is put down to the first full lane in the fixed order", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 1 } });
    const tenant = await work.ask({ tenant: "acme" });
    const tool = await work.ask({ tool: "search" });
    const call = await work.ask({ tenant: "acme", tool: "search" });
    expect(work.lane("tool:search")?.blockedOn).toEqual({ "tenant:acme": 1 });
    await work.clock.advance(1);
    await work.release(tool);
    await work.clock.advance(2);
    await work.release(tenant);
    expect(call.held.waited).toEqual({ tenant: 3, turn: 0, tool: 0, resource: 0 });
  });

  it("a wait is put down to another lane from when that one is in the way", async () => {
    const work = new LanesAtWork({ perTenant: 2, perTool: { search: 1 }, perResource: { maps: 1 } });
    const tool = await work.ask({ tool: "search" });
    const call = await work.ask({ tenant: "acme", tool: "search", resource: "maps" });
    await work.clock.advance(1);
    const [one, two] = await work.askTimes(2, { tenant: "acme" });
    const resource = await work.ask({ resource: "maps" });
    await work.clock.advance(1);
    await work.release(tool);
    await work.clock.advance(4);
    await work.release(one as Asked);
    await work.clock.advance(8);
    await work.release(resource);
    expect(states([call, two as Asked])).toEqual(["held", "held"]);
    const { tenant, turn, tool: forTool, resource: forResource } = call.held.waited;
    expect({ turn, forTool }).toEqual({ turn: 0, forTool: 2 });
    expect(tenant + (forResource as number)).toBe(12);
    expect(tenant).toBeGreaterThanOrEqual(4);
  });

  it("each call has its own waits, however late it joined the queue", async () => {
    const work = new LanesAtWork({ perTenant: 1 });
    const holder = await work.ask({ tenant: "acme" });
    const early = await work.ask({ tenant: "acme" });
    await work.clock.advance(3);
    const late = await work.ask({ tenant: "acme" });
    await work.clock.advance(2);
    await work.release(holder);
    await work.release(early);
    expect(early.held.waited.tenant).toBe(5);
    expect(late.held.waited.tenant).toBe(2);
  });

  it("a call that did not wait has waited for nothing", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    expect((await work.ask({ tool: "search" })).held.waited).toEqual({ tenant: 0, turn: 0, tool: 0, resource: 0 });
  });

  it("what is not declared bounds nothing and is no lane", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const calls = await work.askTimes(50, { tenant: "acme", tool: "other", resource: "maps" });
    expect(states(calls).every((state) => state === "held")).toBe(true);
    expect(work.lanes.snapshot().map(({ lane }) => lane)).toEqual(["tool:search"]);
  });

  it("tools, tenants and resources of the same name are lanes of their own", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { same: 1 }, perResource: { same: 1 } });
    expect(
      states([
        await work.ask({ tenant: "same" }),
        await work.ask({ tool: "same" }),
        await work.ask({ resource: "same" }),
      ]),
    ).toEqual(["held", "held", "held"]);
  });

  it("a name that objects have by themselves is a name like any other", async () => {
    const work = new LanesAtWork({ perTenant: 1 });
    for (const tool of ["constructor", "__proto__", "toString"]) {
      expect(states([await work.ask({ tenant: tool, tool, resource: tool })])).toEqual(["held"]);
      expect(states([await work.ask({ tenant: tool })])).toEqual(["waits"]);
    }
  });
});
