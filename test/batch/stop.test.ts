import { CancelledError } from "lanekeeper";
import { Deferred } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { Stop, Stopped, type StopReason } from "../../src/batch/stop.ts";

const reason = (why: string): StopReason => ({ status: "cancelled", error: new CancelledError(why), why });

describe("Semantics 8: the first reason to stop wins", () => {
  it("fires once and keeps what it fired with", () => {
    const stop = new Stop();
    const heard: string[] = [];
    stop.onFire(({ why }) => heard.push(why));
    expect(stop.fire(reason("first"))).toBe(true);
    expect(stop.fire(reason("second"))).toBe(false);
    expect(heard).toEqual(["first"]);
    expect(stop.reason?.why).toBe("first");
  });

  it("tells its listeners before its signal aborts, and a late listener at once", () => {
    const stop = new Stop();
    const order: string[] = [];
    stop.signal.addEventListener("abort", () => order.push("signal"));
    stop.onFire(() => order.push("listener"));
    stop.fire(reason("now"));
    stop.onFire(() => order.push("late"));
    expect(order).toEqual(["listener", "signal", "late"]);
    expect(stop.signal.reason).toBe(stop.reason?.error);
  });

  it("a signal asked for after it fired is aborted", () => {
    const stop = new Stop();
    stop.fire(reason("before"));
    expect(stop.signal.aborted).toBe(true);
  });

  it("a listener that was taken away hears nothing, also when it was added twice", () => {
    const stop = new Stop();
    let heard = 0;
    const listener = (): void => void heard++;
    const remove = stop.onFire(listener);
    stop.onFire(listener);
    remove();
    stop.fire(reason("now"));
    expect(heard).toBe(1);
  });

  it("race gives what the work gives, or rejects as soon as it fires; what comes later is swallowed", async () => {
    const stop = new Stop();
    await expect(stop.race(Promise.resolve(1))).resolves.toBe(1);
    await expect(stop.race(Promise.reject(new Error("own")))).rejects.toThrow("own");
    const never = new Deferred<void>();
    const raced = stop.race(never.promise);
    stop.fire(reason("now"));
    await expect(raced).rejects.toBeInstanceOf(Stopped);
    never.reject(new Error("late"));
    await new Promise((resolve) => setImmediate(resolve));
  });
});
