import { getEventListeners } from "node:events";
import { Deferred, FakeClock, Gate } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

describe("Gate: a test lets bodies go in the order it likes", () => {
  it("holds everybody until each is let go, in any order, with a value of their own", async () => {
    const gate = new Gate<string>();
    const done: string[] = [];
    const bodies = ["a", "b", "c"].map((label) => gate.wait(label).then((value) => done.push(`${label}: ${value}`)));
    expect(gate.waiting).toEqual(["a", "b", "c"]);
    gate.open("b", "second");
    await bodies[1];
    expect(done).toEqual(["b: second"]);
    expect(gate.waiting).toEqual(["a", "c"]);
    gate.fail("a", new Error("no"));
    await expect(bodies[0]).rejects.toThrow("no");
    gate.openAll("rest");
    await bodies[2];
    expect(done).toEqual(["b: second", "c: rest"]);
    expect(gate.waiting).toEqual([]);
    expect(gate.arrivals).toEqual(["a", "b", "c"]);
  });

  it("lets the first of one label go first", async () => {
    const gate = new Gate<number>();
    const first = gate.wait("a");
    const second = gate.wait("a");
    gate.open("a", 1);
    gate.open("a", 2);
    expect(await Promise.all([first, second])).toEqual([1, 2]);
  });

  it("tells when somebody has arrived, before or after one asks, and how many times", async () => {
    const gate = new Gate();
    const clock = new FakeClock();
    const early = gate.arrived("a");
    const twice = gate.arrived("a", 2);
    void gate.wait("b");
    await expect(clock.promptly(early)).rejects.toThrow(/nobody/);
    void gate.wait("a");
    await clock.promptly(early);
    await clock.promptly(gate.arrived("a"));
    await expect(clock.promptly(twice)).rejects.toThrow(/nobody/);
    void gate.wait("a");
    await clock.promptly(twice);
  });

  it("refuses to open for somebody who is not there, and says who is", () => {
    const gate = new Gate();
    void gate.wait("a");
    expect(() => gate.open("b")).toThrow(/Gate\.open\("b"\): nobody waits there; waiting now: a/);
    gate.open("a");
    expect(() => gate.fail("a", 1)).toThrow(/waiting now: nobody/);
  });

  it("holds later ones again after openAll, and nobody after leaveOpen", async () => {
    const gate = new Gate<number>();
    gate.openAll(1);
    const held = gate.wait("a");
    expect(gate.waiting).toEqual(["a"]);
    gate.leaveOpen(2);
    expect(await held).toBe(2);
    expect(await gate.wait("b")).toBe(2);
    expect(gate.waiting).toEqual([]);
  });

  it("lets one go whose signal aborts, with the reason, and leaves no listener", async () => {
    const gate = new Gate<string>();
    const stop = new AbortController();
    const first = gate.wait("a", { signal: stop.signal });
    const second = gate.wait("b", { signal: stop.signal });
    gate.open("b", "through");
    expect(await second).toBe("through");
    stop.abort("enough");
    await expect(first).rejects.toBe("enough");
    expect(gate.waiting).toEqual([]);
    expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
    await expect(gate.wait("c", { signal: stop.signal })).rejects.toBe("enough");
    expect(gate.waiting).toEqual([]);

    const other = new AbortController();
    const third = gate.wait("d", { signal: other.signal });
    gate.open("d", "done");
    await third;
    expect(getEventListeners(other.signal, "abort")).toHaveLength(0);
  });
});

describe("Deferred: a promise that somebody else settles", () => {
  it("settles once, by whoever comes first", async () => {
    const good = new Deferred<number>();
    good.resolve(1);
    good.reject(new Error("late"));
    expect(await good.promise).toBe(1);
    const bad = new Deferred();
    bad.reject("why");
    bad.resolve();
    await expect(bad.promise).rejects.toBe("why");
  });

  it("is no unhandled rejection when nobody listens", async () => {
    const heard: unknown[] = [];
    const hear = (reason: unknown): void => {
      heard.push(reason);
    };
    process.on("unhandledRejection", hear);
    new Deferred().reject(new Error("unheard"));
    await new FakeClock().settle();
    process.off("unhandledRejection", hear);
    expect(heard).toEqual([]);
  });
});
