import { describe, expect, it } from "vitest";
import { type Asked, LanesAtWork } from "./lanes-at-work.ts";

describe("Semantics 4.9: a snapshot tells each lane's bound, who is in flight and who waits", () => {
  it("tells declared lanes also when nobody uses them", () => {
    const work = new LanesAtWork({
      perTool: { search: 2 },
      perResource: { maps: { starts: { count: 3, perSeconds: 1 } } },
    });
    const idle = { inFlight: 0, waiting: 0, longestWaitSeconds: 0, abandoned: 0, holders: [], blockedOn: {} };
    expect(work.lanes.snapshot().map((lane) => ({ ...lane, blockedOn: { ...lane.blockedOn } }))).toEqual([
      { ...idle, lane: "tool:search", bound: 2 },
      { ...idle, lane: "resource:maps", bound: Number.POSITIVE_INFINITY, starts: { count: 3, perSeconds: 1 } },
    ]);
  });

  it("tells who holds a place and for how long, longest first", async () => {
    const work = new LanesAtWork({ perTool: { search: 2 } });
    await work.ask(
      { tenant: "acme", tool: "search" },
      { holder: { runId: "r1", path: "0", callId: "c1", secret: "no" } },
    );
    await work.clock.advance(2);
    await work.ask({ tool: "search" }, { holder: { callId: "c2" } });
    await work.clock.advance(3);
    expect(work.lane("tool:search")?.holders).toEqual([
      { tenant: "acme", runId: "r1", path: "0", callId: "c1", tool: "search", heldSeconds: 5 },
      { callId: "c2", tool: "search", heldSeconds: 3 },
    ]);
  });

  it("counts a waiting call in every lane it stands in, and tells which lane each waits for", async () => {
    const work = new LanesAtWork({ perTenant: 5, perTool: { search: 1 } });
    await work.ask({ tenant: "acme", tool: "search" });
    await work.ask({ tenant: "acme", tool: "search" });
    await work.clock.advance(4);
    await work.ask({ tenant: "acme", tool: "search" });
    for (const label of ["tenant:acme", "tool:search"]) {
      const lane = work.lane(label);
      expect(lane?.waiting).toBe(2);
      expect(lane?.longestWaitSeconds).toBe(4);
      expect(lane?.blockedOn).toEqual({ "tool:search": 2 });
    }
  });

  it("tells to whom a place is lent and from whom it is borrowed", async () => {
    const work = new LanesAtWork({ perTenant: 1 });
    const caller = await work.ask({ tenant: "acme", tool: "agent" }, { holder: { callId: "outer" } });
    await work.ask({ tool: "search" }, { within: caller.held });
    expect(work.lane("tenant:acme")).toMatchObject({
      inFlight: 1,
      holders: [
        { callId: "outer", lentTo: "search" },
        { tool: "search", borrowedFrom: "outer" },
      ],
    });
  });

  it("never shows arguments", async () => {
    const work = new LanesAtWork();
    await work.ask({ tool: "pay", arguments: '{"card":"4111"}' });
    const [lane] = work.lanes.snapshot();
    expect(lane?.lane).toMatch(/^arguments:pay#[0-9a-f]{8}$/);
    expect(JSON.stringify(work.lanes.snapshot())).not.toContain("4111");
  });

  it("a holder that throws when it is looked at tells nothing and breaks nothing", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
      },
    );
    await work.ask({ tool: "search" }, { holder: hostile });
    expect(work.lane("tool:search")?.holders).toEqual([{ tool: "search", heldSeconds: 0 }]);
  });

  it("is a copy: changing it changes nothing", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    await work.ask({ tool: "search" });
    const [lane] = work.lanes.snapshot();
    Object.assign(lane as object, { inFlight: 0, holders: [] });
    expect(work.lane("tool:search")).toMatchObject({ inFlight: 1 });
  });

  it("a lane that nobody uses or waits for is gone", async () => {
    const work = new LanesAtWork({ perTenant: 1 });
    const calls: Asked[] = [];
    for (let tenant = 0; tenant < 50; tenant += 1) calls.push(await work.ask({ tenant: `t${tenant}` }));
    expect(work.lanes.snapshot()).toHaveLength(50);
    for (const call of calls) await work.release(call);
    expect(work.lanes.snapshot()).toEqual([]);
  });
});
