import { getEventListeners } from "node:events";
import { CancelledError, Lanes } from "lanekeeper/lanes";
import { FakeClock } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { type Asked, LanesAtWork, states } from "./lanes-at-work.ts";

describe("Semantics 4.10: cancelling while waiting leaks nothing, and those behind go on at once", () => {
  it("a signal that has aborted already asks for nothing, also when there is a place", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const reason = new Error("not any more");
    const asked = await work.ask({ tool: "search" }, { signal: AbortSignal.abort(reason) });
    expect(asked.error).toBeInstanceOf(CancelledError);
    expect((asked.error as Error).cause).toBe(reason);
    expect(work.count("tool:search")).toBe("0/0");
    let ran = false;
    const used = work.lanes.use({ tool: "search" }, () => (ran = true), { signal: AbortSignal.abort() });
    await expect(used).rejects.toBeInstanceOf(CancelledError);
    expect(ran).toBe(false);
  });

  it("a call that gives up waiting lets those behind it go on", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 1 } });
    const stop = new AbortController();
    const holder = await work.ask({ tool: "search" });
    const first = await work.ask({ tenant: "acme", tool: "search" }, { signal: stop.signal });
    const second = await work.ask({ tenant: "acme", tool: "search" });
    stop.abort();
    await work.clock.settle();
    expect(states([first, second])).toEqual(["CancelledError", "waits"]);
    expect(work.count("tool:search")).toBe("1/1");
    await work.release(holder);
    expect(states([second])).toEqual(["held"]);
  });

  it("a signal aborted between the grant and its delivery gives the places back unused", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const stop = new AbortController();
    const holder = await work.ask({ tool: "search" });
    const granted = await work.ask({ tool: "search" }, { signal: stop.signal });
    const behind = await work.ask({ tool: "search" });
    holder.held.release();
    stop.abort();
    await work.clock.settle();
    expect(states([granted, behind])).toEqual(["CancelledError", "held"]);
    expect(work.count("tool:search")).toBe("1/0");
  });

  it("`use` never starts a body after the signal has aborted, also when the places were granted before", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const stop = new AbortController();
    const holder = await work.ask({ tool: "search" });
    let ran = false;
    const used = work.lanes.use({ tool: "search" }, () => (ran = true), { signal: stop.signal });
    used.catch(() => {});
    holder.held.release();
    stop.abort();
    await expect(used).rejects.toBeInstanceOf(CancelledError);
    expect(ran).toBe(false);
    expect(work.count("tool:search")).toBe("0/0");
  });

  it("an abort after the body has started touches neither the body nor its places", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const stop = new AbortController();
    const call = await work.ask({ tool: "search" }, { signal: stop.signal });
    stop.abort();
    await work.clock.settle();
    expect(states([call])).toEqual(["held"]);
  });

  it("releasing twice is harmless", async () => {
    const work = new LanesAtWork({ perTool: { search: 2 } });
    const [one] = await work.askTimes(2, { tool: "search" });
    one?.held.release();
    one?.held.release();
    one?.held.end();
    one?.held.abandon();
    expect(work.lane("tool:search")).toMatchObject({ inFlight: 1, abandoned: 0 });
  });

  it("one signal has one listener, however many wait under it, and none when nobody does", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const { signal } = new AbortController();
    const listeners = (): number => getEventListeners(signal, "abort").length;
    const holder = await work.ask({ tool: "search" }, { signal });
    expect(listeners()).toBe(0);
    const waiting = await work.askTimes(100, { tool: "search" }, { signal });
    expect(listeners()).toBe(1);
    await work.release(holder);
    for (const call of waiting) await work.release(call);
    expect(listeners()).toBe(0);
  });

  it("one abort ends every wait under the signal, and its order is that of asking", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const stop = new AbortController();
    await work.ask({ tool: "search" });
    const order: number[] = [];
    for (let call = 0; call < 5; call += 1) {
      work.lanes.acquire({ tool: "search" }, { signal: stop.signal }).catch(() => order.push(call));
    }
    stop.abort();
    await work.clock.settle();
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
    expect(work.count("tool:search")).toBe("1/0");
  });

  it("a nested wait is cancelled like any other, and the caller's place is not touched", async () => {
    const work = new LanesAtWork({ perTool: { agent: 1, search: 1 } });
    const stop = new AbortController();
    await work.ask({ tool: "search" });
    const caller = await work.ask({ tool: "agent" });
    const nested = await work.ask({ tool: "search" }, { within: caller.held, signal: stop.signal });
    stop.abort();
    await work.clock.settle();
    expect(states([caller, nested])).toEqual(["held", "CancelledError"]);
    expect(work.count("tool:agent")).toBe("1/0");
  });

  it("a lane nobody uses or waits for costs no memory", async () => {
    const clock = new FakeClock();
    const lanes = new Lanes({ perTenant: 1, perTool: { search: 1 } }, { clock });
    const stop = new AbortController();
    const holder = await lanes.acquire({ tool: "search" });
    const waits = Array.from({ length: 200 }, (_, at) =>
      lanes.acquire({ tenant: `t${at}`, tool: "search", arguments: `${at}` }, { signal: stop.signal }).catch(() => {}),
    );
    stop.abort();
    await Promise.all(waits);
    holder.release();
    expect(lanes.snapshot().map(({ lane }) => lane)).toEqual(["tool:search"]);
    clock.assertIdle();
  });

  it("a random mix of asking, cancelling and releasing ends empty", async () => {
    const work = new LanesAtWork({ perTenant: 2, perTool: { search: 2 } });
    const calls: { asked: Asked; stop: AbortController }[] = [];
    for (let at = 0; at < 60; at += 1) {
      const stop = new AbortController();
      calls.push({ stop, asked: await work.ask({ tenant: `t${at % 3}`, tool: "search" }, { signal: stop.signal }) });
      if (at % 4 === 3) calls[at - 2]?.stop.abort();
      if (at % 5 === 4) calls[at - 4]?.asked.permit?.release();
    }
    for (const { asked } of calls) await work.release(asked);
    for (const { asked } of calls) await work.release(asked);
    for (const { asked, stop } of calls) {
      stop.abort();
      asked.permit?.release();
    }
    await work.clock.settle();
    expect(work.lanes.snapshot()).toMatchObject([{ lane: "tool:search", inFlight: 0, waiting: 0 }]);
  });
});
