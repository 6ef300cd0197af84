import { Lanes } from "lanekeeper/lanes";
import { FakeClock, Witness } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { type Asked, LanesAtWork, states } from "./lanes-at-work.ts";

/** Releases whoever is held, over and over, and tells in which order the requests were granted. */
async function serveAll(work: LanesAtWork, asked: Map<string, Asked[]>): Promise<string[]> {
  const order: string[] = [];
  const seen = new Set<Asked>();
  for (;;) {
    const held: [string, Asked][] = [];
    for (const [name, calls] of asked) {
      for (const call of calls) if (call.permit !== undefined && !seen.has(call)) held.push([name, call]);
    }
    if (held.length === 0) return order;
    for (const [name, call] of held) {
      seen.add(call);
      order.push(name);
      await work.release(call);
    }
  }
}

describe("Semantics 4.5: no place idles beside a call that could use it, and calls are served in order", () => {
  it("calls with the same lanes are strictly first come, first served", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const calls = await work.askTimes(5, { tenant: "acme", tool: "search" });
    for (let next = 0; next < 5; next += 1) {
      expect(states(calls).indexOf("held")).toBe(next);
      await work.release(calls[next] as Asked);
    }
  });

  it("an arrival does not overtake a call that has been granted in the same tick", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const first = await work.ask({ tool: "search" });
    const second = await work.ask({ tool: "search" });
    first.held.release();
    expect(work.lanes.tryAcquire({ tool: "search" })).toBeUndefined();
    await work.clock.settle();
    expect(states([second])).toEqual(["held"]);
  });

  it("a call that waits for a full tool does not hold up the same tenant's calls behind it", async () => {
    const clock = new FakeClock({ autoAdvance: true });
    const lanes = new Lanes({ perTenant: 4, perTool: { slow: 1 } }, { clock });
    const witness = new Witness();
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => clock.setTimer(ms, resolve));
    const fastDone: number[] = [];
    const slow = Array.from({ length: 20 }, () =>
      lanes.use({ tenant: "a", tool: "slow" }, () => witness.body("slow", () => sleep(100))),
    );
    const fast = Array.from({ length: 20 }, () =>
      lanes.use({ tenant: "a", tool: "fast" }, async () => {
        await witness.body("fast", () => sleep(1));
        fastDone.push(clock.monotonic());
      }),
    );
    await Promise.all([...slow, ...fast]);
    // 20 fast calls over the three places that the slow one leaves.
    expect(fastDone.at(-1)).toBe(7);
    expect(witness.peak()).toBe(4);
    expect(witness.peak("slow")).toBe(1);
  });

  it("within one tenant and tool the oldest call that could run goes first, also from other turns", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const narrow = work.lanes.turn({ maxConcurrentTools: 1 });
    const other = work.lanes.turn();
    const inNarrow = await work.ask({ turn: narrow });
    const holder = await work.ask({ tool: "search" });
    const oldest = await work.ask({ turn: narrow, tool: "search" });
    const younger = await work.ask({ turn: other, tool: "search" });
    await work.release(holder);
    // The oldest could not run: its turn is full.
    expect(states([oldest, younger])).toEqual(["waits", "held"]);
    const youngest = await work.ask({ turn: other, tool: "search" });
    await work.release(inNarrow);
    await work.release(younger);
    expect(states([oldest, youngest])).toEqual(["held", "waits"]);
  });

  it("tenants take turns at a tool: one with a thousand calls delays another's first by one service", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const hog = Array.from({ length: 1000 }, () => work.lanes.acquire({ tenant: "hog", tool: "search" }));
    const late = await work.ask({ tenant: "late", tool: "search" });
    (await (hog[0] as Promise<{ release(): void }>)).release();
    await work.clock.settle();
    (await (hog[1] as Promise<{ release(): void }>)).release();
    await work.clock.settle();
    expect(states([late])).toEqual(["held"]);
  });

  it("no tenant waits for more than one service of each tenant that waits already", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const asked = new Map<string, Asked[]>();
    for (const tenant of ["a", "b", "c"]) asked.set(tenant, await work.askTimes(3, { tenant, tool: "search" }));
    // The first ran at once; b and c then wait for one service of each of the others.
    expect((await serveAll(work, asked)).join("")).toBe("aabcabcbc");
  });

  it("turns are counted at the resource, across the tools that share it", async () => {
    const work = new LanesAtWork({ perTool: { x: 1 }, perResource: { maps: 1 } });
    const asked = new Map<string, Asked[]>();
    // Two tenants in turn at one tool must not keep out a third at another.
    for (const tenant of ["a", "b"]) asked.set(tenant, await work.askTimes(4, { tenant, tool: "x", resource: "maps" }));
    asked.set("c", await work.askTimes(4, { tenant: "c", tool: "y", resource: "maps" }));
    expect((await serveAll(work, asked)).join("")).toBe("aabcabcabcbc");
  });

  it("a tenant that was served at a resource by one tool comes last at the resource's other tools, too", async () => {
    const work = new LanesAtWork({ perTool: { x: 1, y: 1 }, perResource: { maps: 2 } });
    const x = { tool: "x", resource: "maps" };
    const y = { tool: "y", resource: "maps" };
    const holders = [await work.ask({ tenant: "h", ...x }), await work.ask({ tenant: "h", ...y })] as const;
    const [aByY, aByX] = [await work.ask({ tenant: "a", ...y }), await work.ask({ tenant: "a", ...x })];
    const bByX = await work.ask({ tenant: "b", ...x });
    await work.release(holders[1]);
    await work.release(holders[0]);
    expect(states([aByY, aByX, bByX])).toEqual(["held", "waits", "held"]);
  });

  it("a tenant that leaves and comes back joins at the tail", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const a = await work.ask({ tenant: "a", tool: "search" });
    const b = await work.ask({ tenant: "b", tool: "search" });
    await work.release(a);
    const c = await work.ask({ tenant: "c", tool: "search" });
    const again = await work.ask({ tenant: "a", tool: "search" });
    await work.release(b);
    expect(states([c, again])).toEqual(["held", "waits"]);
  });

  it("one release that frees two full lanes wakes whoever waited for either", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 1 } });
    const both = await work.ask({ tenant: "a", tool: "search" });
    const forTenant = await work.ask({ tenant: "a", tool: "other" });
    const forTool = await work.ask({ tenant: "b", tool: "search" });
    await work.release(both);
    expect(states([forTenant, forTool])).toEqual(["held", "held"]);
  });
});
