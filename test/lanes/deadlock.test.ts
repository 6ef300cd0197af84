import { LaneDeadlockError, Lanes } from "lanekeeper/lanes";
import { describe, expect, it } from "vitest";
import { type Asked, LanesAtWork, states } from "./lanes-at-work.ts";

const crossed = async (work: LanesAtWork): Promise<{ a: Asked; b: Asked; aWantsB: Asked; bWantsA: Asked }> => {
  const a = await work.ask({ tool: "a" }, { holder: { callId: "call_a" } });
  const b = await work.ask({ tool: "b" }, { holder: { callId: "call_b" } });
  const aWantsB = await work.ask({ tool: "b" }, { within: a.held, holder: { callId: "call_ab" } });
  const bWantsA = await work.ask({ tool: "a" }, { within: b.held, holder: { callId: "call_ba" } });
  return { a, b, aWantsB, bWantsA };
};

describe("Semantics 4.7: a deadlock is named, at once and only when it is one", () => {
  it("fails the call whose wait closed the knot, and names the ring", async () => {
    const work = new LanesAtWork({ perTool: { a: 1, b: 1 } });
    const { a, b, aWantsB, bWantsA } = await crossed(work);
    expect(states([aWantsB, bWantsA])).toEqual(["waits", "LaneDeadlockError"]);
    expect(bWantsA.error).toBeInstanceOf(LaneDeadlockError);
    const { cycle, code } = bWantsA.error as LaneDeadlockError;
    expect(code).toBe("LANE_DEADLOCK");
    expect(cycle).toEqual([
      "a (call_ba) waits for tool:a, held by a (call_a)",
      "b (call_ab) waits for tool:b, held by b (call_b)",
    ]);
    await work.release(b);
    expect(states([aWantsB])).toEqual(["held"]);
    for (const one of [aWantsB, a]) await work.release(one);
    expect(work.lanes.snapshot().every(({ inFlight, waiting }) => inFlight + waiting === 0)).toBe(true);
  });

  it("a ring through a lane with another holder that is able to end is none", async () => {
    const work = new LanesAtWork({ perTool: { a: 2, b: 1 } });
    const free = await work.ask({ tool: "a" });
    const { bWantsA } = await crossed(work);
    expect(states([bWantsA])).toEqual(["waits"]);
    await work.release(free);
    expect(states([bWantsA])).toEqual(["held"]);
  });

  it("a holder that waits for somebody who is able to end is no knot", async () => {
    const work = new LanesAtWork({ perTool: { a: 1, b: 1, c: 1 } });
    const [a, b, c] = [await work.ask({ tool: "a" }), await work.ask({ tool: "b" }), await work.ask({ tool: "c" })];
    const bWantsC = await work.ask({ tool: "c" }, { within: b.held });
    const aWantsB = await work.ask({ tool: "b" }, { within: a.held });
    expect(states([bWantsC, aWantsB])).toEqual(["waits", "waits"]);
    for (const one of [c, bWantsC, b]) await work.release(one);
    expect(states([aWantsB])).toEqual(["held"]);
  });

  it("finds a ring over three bodies and over lanes of different kinds", async () => {
    const work = new LanesAtWork({ perTool: { a: 1 }, perResource: { r: 1 } });
    const a = await work.ask({ tool: "a" });
    const r = await work.ask({ resource: "r" });
    const x = await work.ask({ exclusive: "x" });
    const waiting = [
      await work.ask({ resource: "r" }, { within: a.held }),
      await work.ask({ exclusive: "x" }, { within: r.held }),
      await work.ask({ tool: "a" }, { within: x.held }),
    ];
    expect(states(waiting)).toEqual(["waits", "waits", "LaneDeadlockError"]);
    expect((waiting[2] as Asked & { error: LaneDeadlockError }).error.cycle).toHaveLength(3);
  });

  it("is found through async context, and the body that asked gets the error", async () => {
    const lanes = new Lanes({ perTool: { a: 1, b: 1 } });
    const both: string[] = [];
    const cross = (mine: string, other: string): Promise<void> =>
      lanes.use({ tool: mine }, async () => {
        await Promise.resolve();
        await lanes.use({ tool: other }, () => {}).catch((error: Error) => both.push(error.name));
      });
    await Promise.all([cross("a", "b"), cross("b", "a")]);
    expect(both).toEqual(["LaneDeadlockError"]);
  });

  it("calls of their own never close a ring, however long they wait", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { a: 1 } });
    await work.ask({ tenant: "acme" });
    await work.ask({ tool: "a" });
    expect(states(await work.askTimes(3, { tenant: "acme", tool: "a" }))).toEqual(["waits", "waits", "waits"]);
  });

  it("a bound on starts opens by itself and is no reason", async () => {
    const work = new LanesAtWork({ perTool: { a: { starts: { count: 1, perSeconds: 10 } } } });
    const caller = await work.ask({ tool: "a" });
    const nested = await work.ask({ tool: "a" }, { within: caller.held });
    expect(states([nested])).toEqual(["waits"]);
    await work.clock.advance(10);
    expect(states([nested])).toEqual(["held"]);
  });

  it("a bound that is lowered while calls wait may close a ring, and then it is named", async () => {
    const work = new LanesAtWork({ perTool: { a: 2, b: 1 } });
    const free = await work.ask({ tool: "a" });
    const { aWantsB, bWantsA } = await crossed(work);
    expect(states([aWantsB, bWantsA])).toEqual(["waits", "waits"]);
    // From now on both holders of `a` must end before a place is free, and one of them never will.
    work.lanes.configure({ perTool: { a: 1 } });
    await work.clock.settle();
    expect(states([aWantsB, bWantsA]).sort()).toEqual(["LaneDeadlockError", "waits"]);
    expect(states([free])).toEqual(["held"]);
  });
});
