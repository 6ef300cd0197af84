import { describe, expect, it } from "vitest";
import { type Asked, LanesAtWork, states } from "./lanes-at-work.ts";

const heldOf = (asked: Asked[]): number => asked.filter(({ permit }) => permit !== undefined).length;

describe("Semantics 4.1: a lane may bound how many calls start within a stretch of time", () => {
  it("lets as many start as declared, and the next when the first start is over", async () => {
    const work = new LanesAtWork({ perTool: { search: { starts: { count: 2, perSeconds: 10 } } } });
    const first = await work.ask({ tool: "search" });
    await work.clock.advance(4);
    const calls = [first, ...(await work.askTimes(3, { tool: "search" }))];
    expect(heldOf(calls)).toBe(2);
    await work.clock.advance(5.9);
    expect(heldOf(calls)).toBe(2);
    await work.clock.advance(0.1);
    expect(heldOf(calls)).toBe(3);
    await work.clock.advance(4);
    expect(heldOf(calls)).toBe(4);
  });

  it("ending early gives no start back", async () => {
    const work = new LanesAtWork({ perTool: { search: { starts: { count: 1, perSeconds: 10 } } } });
    await work.release(await work.ask({ tool: "search" }));
    const next = await work.ask({ tool: "search" });
    expect(states([next])).toEqual(["waits"]);
    await work.clock.advance(10);
    expect(states([next])).toEqual(["held"]);
  });

  it("a bound in flight and several rates hold together", async () => {
    const starts = [
      { count: 2, perSeconds: 1 },
      { count: 3, perSeconds: 60 },
    ];
    const work = new LanesAtWork({ perResource: { api: { inFlight: 5, starts } } });
    const calls = await work.askTimes(5, { resource: "api" });
    expect(heldOf(calls)).toBe(2);
    await work.clock.advance(1);
    expect(heldOf(calls)).toBe(3);
    await work.clock.advance(58.9);
    expect(heldOf(calls)).toBe(3);
    await work.clock.advance(0.1);
    expect(heldOf(calls)).toBe(5);
  });

  it("a nested call that borrows its caller's place is a start, too", async () => {
    const work = new LanesAtWork({ perTool: { search: { inFlight: 1, starts: { count: 1, perSeconds: 10 } } } });
    const caller = await work.ask({ tool: "search" });
    const nested = await work.ask({ tool: "search" }, { within: caller.held });
    expect(states([nested])).toEqual(["waits"]);
    await work.clock.advance(10);
    expect(states([nested])).toEqual(["held"]);
    expect(work.count("tool:search")).toBe("1/0");
  });

  it("who waits when time opens the lane goes before who arrives at that moment", async () => {
    const work = new LanesAtWork({ perTool: { search: { starts: { count: 1, perSeconds: 10 } } } });
    await work.ask({ tool: "search" });
    const waiting = await work.ask({ tool: "search" });
    await work.clock.advance(10);
    const arrival = await work.ask({ tool: "search" });
    expect(states([waiting, arrival])).toEqual(["held", "waits"]);
  });

  it("a shorter rate that is configured while calls wait wakes them earlier", async () => {
    const work = new LanesAtWork({ perTool: { search: { starts: { count: 1, perSeconds: 100 } } } });
    await work.ask({ tool: "search" });
    const waiting = await work.ask({ tool: "search" });
    work.lanes.configure({ perTool: { search: { starts: { count: 1, perSeconds: 5 } } } });
    await work.clock.advance(5);
    expect(states([waiting])).toEqual(["held"]);
  });

  it("no timer is left when nobody waits, and none keeps the process alive for a lane that is idle", async () => {
    const stop = new AbortController();
    const work = new LanesAtWork({ perTenant: { starts: { count: 1, perSeconds: 10 } } });
    const call = await work.ask({ tenant: "acme" });
    await work.ask({ tenant: "acme" }, { signal: stop.signal });
    expect(work.clock.pending.foreground).toBe(1);
    stop.abort();
    await work.release(call);
    work.clock.assertIdle({ allowBackground: true });
    // The starts of a tenant count although nobody of it is here.
    expect(states([await work.ask({ tenant: "acme" }, { signal: AbortSignal.abort() })])).toEqual(["CancelledError"]);
    expect(work.lanes.tryAcquire({ tenant: "acme" })).toBeUndefined();
    await work.clock.advance(10);
    work.clock.assertIdle();
    expect(work.lanes.snapshot()).toEqual([]);
  });

  it("without a rate a call that need not wait arms no timer", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 }, maxWaitSeconds: 5 });
    await work.ask({ tool: "search" });
    expect(work.clock.pending).toEqual({ foreground: 0, background: 0 });
  });
});
