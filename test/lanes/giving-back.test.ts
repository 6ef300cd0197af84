import { Lanes } from "lanekeeper/lanes";
import { Deferred, Gate } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { LanesAtWork, states } from "./lanes-at-work.ts";

describe("Semantics 4.8: a permit is given back when the body has really ended, or visibly before", () => {
  it("`use` gives the places back when the promise of its body settles, and passes on what it brings", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const good = new Deferred<string>();
    const bad = new Deferred<string>();
    const first = work.lanes.use({ tool: "search" }, () => good.promise);
    const second = work.lanes.use({ tool: "search" }, () => bad.promise);
    await work.clock.settle();
    expect(work.count("tool:search")).toBe("1/1");
    good.resolve("found");
    expect(await first).toBe("found");
    await work.clock.settle();
    expect(work.count("tool:search")).toBe("1/0");
    const failure = new Error("no such place");
    bad.reject(failure);
    await expect(second).rejects.toBe(failure);
    expect(work.count("tool:search")).toBe("0/0");
  });

  it("a body that returns or throws at once gives its places back at once", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const failure = new Error("at once");
    const throws = work.lanes.use({ tool: "search" }, () => {
      throw failure;
    });
    expect(work.count("tool:search")).toBe("0/0");
    await expect(throws).rejects.toBe(failure);
    const returns = work.lanes.use({ tool: "search" }, () => 7);
    expect(work.count("tool:search")).toBe("0/0");
    expect(await returns).toBe(7);
  });

  it("a body has ended when the nested calls that it started have ended, awaited or not", async () => {
    const work = new LanesAtWork({ perTool: { agent: 1, search: 1 } });
    const gate = new Gate();
    await work.lanes.use({ tool: "agent" }, () => {
      void work.lanes.use({ tool: "search" }, () => gate.wait("search"));
    });
    expect(work.count("tool:agent")).toBe("1/0");
    gate.open("search", undefined);
    await work.clock.settle();
    expect(work.count("tool:agent")).toBe("0/0");
  });

  it("a body that has ended goes also when its last nested call gives up waiting", async () => {
    const work = new LanesAtWork({ perTool: { agent: 1, search: 1 } });
    const busy = await work.ask({ tool: "search" });
    const caller = await work.ask({ tool: "agent" });
    const stop = new AbortController();
    const nested = await work.ask({ tool: "search" }, { within: caller.held, signal: stop.signal });
    caller.held.end();
    expect(work.count("tool:agent")).toBe("1/0");
    stop.abort();
    expect(work.count("tool:agent")).toBe("0/0");
    await work.clock.settle();
    expect(states([nested, busy])).toEqual(["CancelledError", "held"]);
  });

  it("an abandoned body's place goes back, and its lane says so until the body has ended", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const deaf = await work.ask({ tool: "search" });
    const next = await work.ask({ tool: "search" });
    deaf.held.abandon();
    await work.clock.settle();
    expect(states([deaf, next])).toEqual(["given back", "held"]);
    expect(work.lane("tool:search")).toMatchObject({ inFlight: 1, abandoned: 1 });
    deaf.held.end();
    deaf.held.end();
    expect(work.lane("tool:search")).toMatchObject({ inFlight: 1, abandoned: 0 });
  });

  it("an abandoned borrower gives the place back to its lender", async () => {
    const work = new LanesAtWork({ perTenant: 1 });
    const caller = await work.ask({ tenant: "acme" });
    const deaf = await work.ask({}, { within: caller.held });
    const next = await work.ask({}, { within: caller.held });
    expect(states([next])).toEqual(["waits"]);
    deaf.held.abandon();
    await work.clock.settle();
    expect(states([next])).toEqual(["held"]);
    expect(work.count("tenant:acme")).toBe("1/0");
  });

  it("an abandoned lender's place passes to the borrower", async () => {
    const work = new LanesAtWork({ perTenant: 1 });
    const caller = await work.ask({ tenant: "acme" });
    const nested = await work.ask({}, { within: caller.held });
    const stranger = await work.ask({ tenant: "acme" });
    caller.held.abandon();
    await work.clock.settle();
    expect(states([nested, stranger])).toEqual(["held", "waits"]);
    expect(work.lane("tenant:acme")).toMatchObject({ inFlight: 1, abandoned: 1 });
    await work.release(nested);
    expect(states([stranger])).toEqual(["held"]);
  });

  it("a lane with an abandoned body is not forgotten before that has ended", async () => {
    const work = new LanesAtWork({ perTenant: 1 });
    const deaf = await work.ask({ tenant: "acme" });
    deaf.held.abandon();
    expect(work.lane("tenant:acme")).toMatchObject({ inFlight: 0, abandoned: 1 });
    deaf.held.end();
    expect(work.lane("tenant:acme")).toBeUndefined();
  });

  it("tells when the places have gone back, once, in whatever way", async () => {
    const work = new LanesAtWork({ perTool: { search: 3 } });
    const told: string[] = [];
    const [released, ended, abandoned] = await work.askTimes(3, { tool: "search" });
    released?.held.onGivenBack(() => told.push("released"));
    ended?.held.onGivenBack(() => told.push("ended"));
    abandoned?.held.onGivenBack(() => told.push("abandoned"));
    expect(released?.held.givenBack).toBe(false);
    released?.held.release();
    released?.held.release();
    ended?.held.end();
    abandoned?.held.abandon();
    released?.held.onGivenBack(() => told.push("late"));
    expect(told).toEqual(["released", "ended", "abandoned", "late"]);
    expect(released?.held.givenBack).toBe(true);
  });

  it("what is told of a place that went back finds the lanes in order, and may use them", async () => {
    const errors: unknown[] = [];
    const work = new LanesAtWork({ perTool: { search: 1 } }, { onError: (error) => errors.push(error) });
    const first = await work.ask({ tool: "search" });
    const second = await work.ask({ tool: "search" });
    first.held.onGivenBack(() => {
      second.permit?.release();
      throw new Error("told in vain");
    });
    let seen: number | undefined;
    first.held.onGivenBack(() => {
      seen = work.lane("tool:search")?.inFlight;
    });
    await work.release(first);
    expect(seen).toBe(1);
    expect(states([second])).toEqual(["held"]);
    expect(errors).toEqual([new Error("told in vain")]);
  });

  it("`using` gives a permit back at the end of its block", async () => {
    const lanes = new Lanes({ perTool: { search: 1 } });
    {
      using permit = await lanes.acquire({ tool: "search" });
      expect(permit.givenBack).toBe(false);
    }
    expect(lanes.snapshot()[0]?.inFlight).toBe(0);
  });
});
