import { FakeClock } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

const sleep = (clock: FakeClock, seconds: number): Promise<void> =>
  new Promise((resolve) => clock.setTimer(seconds * 1000, resolve));

describe("FakeClock: with autoAdvance time jumps when everything waits", () => {
  it("jumps from timer to timer without anybody moving time", async () => {
    const clock = new FakeClock({ autoAdvance: true });
    await sleep(clock, 3600);
    await sleep(clock, 0.25);
    expect(clock.monotonic()).toBe(3_600_250);
  });

  it("keeps the order of several sleepers", async () => {
    const clock = new FakeClock({ autoAdvance: true });
    const woke: string[] = [];
    const walk = async (name: string, seconds: number): Promise<void> => {
      for (let step = 1; step <= 3; step += 1) {
        await sleep(clock, seconds);
        woke.push(`${name} at ${clock.monotonic() / 1000}`);
      }
    };
    await Promise.all([walk("slow", 5), walk("quick", 2)]);
    expect(woke).toEqual(["quick at 2", "quick at 4", "slow at 5", "quick at 6", "slow at 10", "slow at 15"]);
  });

  it("does not jump while somebody still has work to do", async () => {
    const clock = new FakeClock({ autoAdvance: true });
    let doneAt: number | undefined;
    const busy = async (): Promise<void> => {
      for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      doneAt = clock.monotonic();
    };
    await Promise.all([busy(), sleep(clock, 60)]);
    expect(doneAt).toBe(0);
  });

  it("finds no reason to jump in a background timer, but fires it on the way", async () => {
    const clock = new FakeClock({ autoAdvance: true });
    const beats: number[] = [];
    const beat = (): void => {
      beats.push(clock.monotonic());
      clock.setTimer(1000, beat, { background: true });
    };
    clock.setTimer(1000, beat, { background: true });
    for (let turn = 0; turn < 20; turn += 1) await clock.settle();
    expect(clock.monotonic()).toBe(0);
    await sleep(clock, 2.5);
    expect(beats).toEqual([1000, 2000]);
    expect(clock.monotonic()).toBe(2500);
  });

  it("may be turned on and off at any time", async () => {
    const clock = new FakeClock();
    let woke = false;
    const sleeping = sleep(clock, 10).then(() => {
      woke = true;
    });
    await clock.settle();
    expect(woke).toBe(false);
    clock.autoAdvance = true;
    await sleeping;
    clock.autoAdvance = false;
    const second = sleep(clock, 10);
    for (let turn = 0; turn < 20; turn += 1) await clock.settle();
    expect(clock.monotonic()).toBe(10_000);
    clock.autoAdvance = true;
    await second;
  });

  it("gets along with a test that moves time as well", async () => {
    const clock = new FakeClock({ autoAdvance: true });
    const sleeping = sleep(clock, 1);
    await clock.advance(5);
    await sleeping;
    expect(clock.monotonic()).toBeGreaterThanOrEqual(5000);
  });

  it("does not disturb another clock that jumps at the same time", async () => {
    const clocks = [new FakeClock({ autoAdvance: true }), new FakeClock({ autoAdvance: true })];
    await Promise.all(
      clocks.map(async (clock) => {
        for (let step = 0; step < 500; step += 1) await sleep(clock, 1);
      }),
    );
    expect(clocks.map((clock) => clock.monotonic())).toEqual([500_000, 500_000]);
  });
});
