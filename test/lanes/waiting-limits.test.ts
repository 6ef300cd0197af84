import { LaneFullError, LaneWaitExceededError } from "lanekeeper/lanes";
import { describe, expect, it } from "vitest";
import { LanesAtWork, states } from "./lanes-at-work.ts";

describe("Semantics 4.1: how long a call may wait, and how many may wait in one lane", () => {
  it("past maxWaitSeconds a call fails and names the lane that it waited for", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 5 }, maxWaitSeconds: 3 });
    await work.ask({ tenant: "acme" });
    const call = await work.ask({ tenant: "acme", tool: "search" });
    await work.clock.advance(2.9);
    expect(states([call])).toEqual(["waits"]);
    await work.clock.advance(0.1);
    expect(call.error).toBeInstanceOf(LaneWaitExceededError);
    expect(call.error).toMatchObject({
      lane: "tenant:acme",
      waitedSeconds: 3,
      maxWaitSeconds: 3,
      code: "LANE_WAIT_EXCEEDED",
    });
    expect(work.count("tenant:acme")).toBe("1/0");
    work.clock.assertIdle();
  });

  it("a call that got its places in time leaves no timer", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 }, maxWaitSeconds: 3 });
    const holder = await work.ask({ tool: "search" });
    const call = await work.ask({ tool: "search" });
    await work.clock.advance(2);
    await work.release(holder);
    work.clock.assertIdle();
    await work.clock.advance(5);
    expect(states([call])).toEqual(["held"]);
  });

  it("a turn may wait for less than what is configured, and never longer", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 }, maxWaitSeconds: 10 });
    await work.ask({ tool: "search" });
    const shorter = await work.ask({ tool: "search", turn: work.lanes.turn({ maxWaitSeconds: 2 }) });
    const longer = await work.ask({ tool: "search", turn: work.lanes.turn({ maxWaitSeconds: 99 }) });
    await work.clock.advance(2);
    expect(states([shorter, longer])).toEqual(["LaneWaitExceededError", "waits"]);
    await work.clock.advance(8);
    expect(states([longer])).toEqual(["LaneWaitExceededError"]);
  });

  it("past maxWaiting a call fails at once and names the lane that is full of waiting calls", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 }, maxWaiting: 2 });
    const holder = await work.ask({ tool: "search" });
    const waiting = await work.askTimes(3, { tool: "search" });
    expect(states(waiting)).toEqual(["waits", "waits", "LaneFullError"]);
    expect(waiting[2]?.error).toBeInstanceOf(LaneFullError);
    expect(waiting[2]?.error).toMatchObject({ lane: "tool:search", maxWaiting: 2, code: "LANE_FULL" });
    await work.release(holder);
    expect(states([await work.ask({ tool: "search" })])).toEqual(["waits"]);
  });

  it("who need not wait is not refused by maxWaiting", async () => {
    const work = new LanesAtWork({ perTenant: 2, perTool: { search: 1 }, maxWaiting: 1 });
    await work.ask({ tenant: "acme", tool: "search" });
    await work.ask({ tenant: "acme", tool: "search" });
    expect(states([await work.ask({ tenant: "acme", tool: "other" })])).toEqual(["held"]);
  });

  it("a nested call has the tightest limits of its own and its callers' turns", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    await work.ask({ tool: "search" });
    const caller = await work.ask({ turn: work.lanes.turn({ maxWaitSeconds: 1 }) });
    const nested = await work.ask({ tool: "search", turn: work.lanes.turn() }, { within: caller.held });
    await work.clock.advance(1);
    expect(states([nested])).toEqual(["LaneWaitExceededError"]);
  });
});
