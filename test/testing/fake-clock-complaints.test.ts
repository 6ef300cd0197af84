import { FakeClock, TestingError } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

function armHere(clock: FakeClock): void {
  clock.setTimer(5000, () => {});
}

describe("FakeClock: it says who waits for time that nobody moves", () => {
  it("counts pending timers, those that keep a process alive apart", async () => {
    const clock = new FakeClock();
    clock.setTimer(1000, () => {});
    clock.setTimer(2000, () => {});
    clock.setTimer(3000, () => {}, { background: true });
    expect(clock.pending).toEqual({ foreground: 2, background: 1 });
    await clock.advance(1);
    expect(clock.pending).toEqual({ foreground: 1, background: 1 });
    expect(clock.pendingTimers()).toEqual([
      { dueInSeconds: 1, background: false },
      { dueInSeconds: 2, background: true },
    ]);
  });

  it("complains about pending timers, background ones too unless they are allowed", () => {
    const clock = new FakeClock();
    clock.assertIdle();
    clock.setTimer(1000, () => {}, { background: true });
    expect(() => clock.assertIdle()).toThrow(/a background timer due in 1 s/);
    clock.assertIdle({ allowBackground: true });
    clock.setTimer(2000, () => {});
    expect(() => clock.assertIdle({ allowBackground: true })).toThrow(TestingError);
  });

  it("names at most ten timers and counts the rest", () => {
    const clock = new FakeClock();
    for (let index = 0; index < 12; index += 1) clock.setTimer(1000, () => {});
    expect(() => clock.assertIdle()).toThrow(/and 2 more/);
  });

  it("tells where a timer was armed, only when asked to remember", () => {
    const traced = new FakeClock({ traceTimers: true });
    armHere(traced);
    expect(traced.pendingTimers()[0]?.armedAt).toMatch(/^armed at armHere/);
    expect(() => traced.assertIdle()).toThrow(/armHere .*fake-clock-complaints\.test\.ts/);
    const plain = new FakeClock();
    armHere(plain);
    expect(plain.pendingTimers()[0]).not.toHaveProperty("armedAt");
    expect(() => plain.assertIdle()).toThrow(/traceTimers: true/);
  });

  it("gives what a promise brings when it needs no time", async () => {
    const clock = new FakeClock();
    const soon = (async () => {
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return 7;
    })();
    expect(await clock.promptly(soon)).toBe(7);
    await expect(clock.promptly(Promise.reject(new Error("its own")))).rejects.toThrow("its own");
  });

  it("complains instead of hanging when a promise waits for time, naming the timers", async () => {
    const clock = new FakeClock({ traceTimers: true });
    const late = new Promise<void>((resolve) => clock.setTimer(30_000, resolve));
    await expect(clock.promptly(late)).rejects.toThrow(/waits for time that nobody moves[\s\S]*due in 30 s/);
    await expect(new FakeClock().promptly(new Promise(() => {}))).rejects.toThrow(/no timer is pending/);
  });
});
