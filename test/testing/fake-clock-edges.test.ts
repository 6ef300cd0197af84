import { FakeClock } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

describe("FakeClock: the edges of time", () => {
  it("starts at a fixed epoch, or where it is told to", () => {
    expect(new FakeClock().now()).toBe(Date.UTC(2030, 0, 1));
    expect(new FakeClock({ startAt: 5 }).now()).toBe(5);
    expect(new FakeClock().monotonic()).toBe(0);
  });

  it.each([-1, -0.001, Number.NaN, Number.POSITIVE_INFINITY, "1" as never])(
    "refuses to advance by %s",
    async (seconds) => {
      const clock = new FakeClock();
      await expect(clock.advance(seconds)).rejects.toThrow(
        /FakeClock\.advance seconds: expected a finite number of at least 0/,
      );
      expect(clock.monotonic()).toBe(0);
    },
  );

  it.each([Number.NaN, Number.POSITIVE_INFINITY])("refuses a timer of %s milliseconds", (delay) => {
    expect(() => new FakeClock().setTimer(delay, () => {})).toThrow(/delayMs: expected a finite number/);
  });

  it("refuses options that it does not know and a start that is no number", () => {
    expect(() => new FakeClock({ start: 1 } as never)).toThrow(/FakeClock\.start: unknown option/);
    expect(() => new FakeClock({ startAt: Number.NaN })).toThrow(/FakeClock\.startAt/);
    expect(() => new FakeClock().jumpWallClock(Number.NaN)).toThrow(/FakeClock\.jumpWallClock/);
  });

  it("takes delays far beyond what a host timer takes", async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    clock.setTimer(2 ** 53, () => fired.push("huge"));
    clock.setTimer(2 ** 31, () => fired.push("long"));
    await clock.advance(2 ** 31 / 1000);
    expect(fired).toEqual(["long"]);
    await clock.advance(2 ** 53 / 1000);
    expect(fired).toEqual(["long", "huge"]);
  });

  it("adds up fractions of seconds without losing a timer by a rounding error", async () => {
    const clock = new FakeClock();
    let fired = 0;
    clock.setTimer(0.3 * 1000, () => fired++);
    for (let index = 0; index < 3; index += 1) await clock.advance(0.1);
    expect(fired).toBe(1);
    // 1.005 * 1000 is a little less than 1005.
    const other = new FakeClock();
    other.setTimer(1005, () => fired++);
    await other.advance(1.005);
    expect(fired).toBe(2);
  });

  it("never fires a cancelled timer, and takes a cancel again or too late", async () => {
    const clock = new FakeClock();
    let fired = 0;
    const first = clock.setTimer(10, () => fired++);
    const second = clock.setTimer(20, () => fired++);
    first.cancel();
    first.cancel();
    await clock.advance(1);
    second.cancel();
    expect(fired).toBe(1);
    expect(clock.pending).toEqual({ foreground: 0, background: 0 });
  });

  it("lets one timer cancel another that is due at the same time", async () => {
    const clock = new FakeClock();
    let fired = 0;
    clock.setTimer(10, () => second.cancel());
    const second = clock.setTimer(10, () => fired++);
    await clock.advance(1);
    expect(fired).toBe(0);
  });

  it("moves the wall clock alone when the machine's clock is set, and fires nothing", async () => {
    const clock = new FakeClock({ startAt: 1_000_000 });
    let fired = 0;
    clock.setTimer(1000, () => fired++);
    clock.jumpWallClock(-500);
    await clock.settle();
    expect([clock.now(), clock.monotonic(), fired]).toEqual([500_000, 0, 0]);
    clock.jumpWallClock(3600);
    await clock.advance(0.5);
    expect([clock.now(), clock.monotonic(), fired]).toEqual([4_100_500, 500, 0]);
  });

  it("tells what a timer threw, stands still there, and goes on when asked again", async () => {
    const clock = new FakeClock();
    let fired = 0;
    clock.setTimer(1000, () => {
      throw new Error("from the timer");
    });
    clock.setTimer(2000, () => fired++);
    await expect(clock.advance(5)).rejects.toThrow("from the timer");
    expect([clock.monotonic(), fired]).toEqual([1000, 0]);
    await clock.advance(1);
    expect(fired).toBe(1);
  });

  it("complains when something re-arms a timer without a delay for ever", async () => {
    const clock = new FakeClock();
    const again = (): void => {
      clock.setTimer(0, again);
    };
    again();
    await expect(clock.settle()).rejects.toThrow(/timers fired without time moving/);
  }, 20_000);

  it("C2: an advance settles also when the last timer of an instant was cancelled by the one before it", async () => {
    const clock = new FakeClock();
    let isDone = false;
    clock.setTimer(10, () => {
      queueMicrotask(() => second.cancel());
      setImmediate(() =>
        setImmediate(() => {
          isDone = true;
        }),
      );
    });
    const second = clock.setTimer(10, () => {});
    await clock.advance(0.01);
    expect(isDone).toBe(true);
  });
});
