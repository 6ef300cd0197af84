import { describe, expect, it } from "vitest";
import { type Asked, LanesAtWork, states } from "./lanes-at-work.ts";

interface Stream {
  readonly holders: Asked[];
  readonly overtook: number;
}

/**
 * A call wants a place of its tenant and of a tool of one place. Both are always busy: in turn, one of each comes free and
 * somebody else waits for it. Goes on until a place stays free; tells who holds places then.
 */
async function starve(
  work: LanesAtWork,
  tenantPlaces: number,
  toolPlaces: number,
  signal?: AbortSignal,
): Promise<[Asked, Stream, Stream]> {
  const streams = [
    { request: { tenant: "a" }, holders: await work.askTimes(tenantPlaces, { tenant: "a" }), overtook: 0 },
    {
      request: { tool: "search" },
      holders: await work.askTimes(toolPlaces, { tool: "search" }),
      overtook: 0,
    },
  ] as const;
  const starved = await work.ask({ tenant: "a", tool: "search" }, signal === undefined ? {} : { signal });
  for (let move = 0; move < 100; move += 1) {
    const stream = streams[move % 2] as { request: object; holders: Asked[]; overtook: number };
    const next = await work.ask(stream.request);
    await work.release(stream.holders.shift() as Asked);
    stream.holders.push(next);
    if (next.permit === undefined) return [starved, ...streams] as never;
    stream.overtook += 1;
  }
  return [starved, ...streams] as never;
}

describe("Semantics 4.5: a call that was passed over eight times has its lanes kept for it", () => {
  it("runs although a place in each of its lanes is never free together with the other", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 1 } });
    const [starved, tenants, tools] = await starve(work, 1, 1);
    // The first place that came free went to somebody else before the call was looked at.
    expect(tenants.overtook + tools.overtook).toBe(9);
    expect(states([starved])).toEqual(["waits"]);
    for (const { holders } of [tenants, tools]) await work.release(holders[0] as Asked);
    expect(states([starved])).toEqual(["held"]);
  });

  it("a kept place is closed to everybody else, and open again when the call gives up", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 1 } });
    const stop = new AbortController();
    const [, { holders: tenant }, { holders: tool }] = await starve(work, 1, 1, stop.signal);
    const strangers = [...tenant, ...tool, await work.ask({ tenant: "a" }), await work.ask({ tool: "search" })];
    const before = states(strangers);
    stop.abort();
    await work.clock.settle();
    const after = states(strangers);
    expect(before.filter((state) => state === "held")).toHaveLength(1);
    expect(after.filter((state) => state === "held")).toHaveLength(2);
  });

  it("a call that waits for its turn only is not passed over", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    let holder = await work.ask({ tenant: "a", tool: "search" });
    const waiting = await work.askTimes(12, { tool: "search" });
    for (const next of waiting) {
      await work.release(holder);
      expect(states([next])).toEqual(["held"]);
      holder = next;
    }
    await work.release(holder);
    expect(states([await work.ask({ tenant: "c", tool: "search" })])).toEqual(["held"]);
  });

  it("of a wide lane one place is kept, and the others go on", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 3 } });
    const [starved, { holders: tenant }, { holders: tool }] = await starve(work, 1, 3);
    for (const holder of tool) await work.release(holder);
    const others = await work.askTimes(3, { tool: "search" });
    expect(states([starved, ...others])).toEqual(["waits", "held", "held", "waits"]);
    await work.release(tenant[0] as Asked);
    expect(states([starved, ...others])).toEqual(["held", "held", "held", "waits"]);
    await work.release(starved);
    expect(states(others)).toEqual(["held", "held", "held"]);
  });

  it("a nested call may take a kept place", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 1 } });
    const [starved, { holders }] = await starve(work, 1, 1);
    expect(work.count("tool:search").split("/")[0]).toBe("0");
    const nested = await work.ask({ tool: "search" }, { within: (holders[0] as Asked).held });
    expect(states([starved, nested])).toEqual(["waits", "held"]);
  });
});
