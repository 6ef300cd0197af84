import { AsyncLocalStorage } from "node:async_hooks";
import { readFile } from "node:fs/promises";
import { FakeClock, seededRandom } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

describe("FakeClock: time goes from one due timer to the next", () => {
  it("fires timers in the order of their due times, each at exactly its own", async () => {
    const clock = new FakeClock();
    const fired: [string, number][] = [];
    for (const [name, ms] of [
      ["c", 3000],
      ["a", 1000],
      ["b", 1500],
    ] as const) {
      clock.setTimer(ms, () => fired.push([name, clock.monotonic()]));
    }
    await clock.advance(2);
    expect(fired).toEqual([
      ["a", 1000],
      ["b", 1500],
    ]);
    expect(clock.monotonic()).toBe(2000);
    await clock.advance(1);
    expect(fired.at(-1)).toEqual(["c", 3000]);
  });

  it("fires timers that are due together in the order in which they were armed", async () => {
    const clock = new FakeClock();
    const fired: number[] = [];
    for (let index = 0; index < 50; index += 1) clock.setTimer(5, () => fired.push(index));
    await clock.advance(1);
    expect(fired).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it("keeps the order when any timers are cancelled, as a plain list would", async () => {
    const random = seededRandom(7);
    const clock = new FakeClock();
    const fired: number[] = [];
    const timers = Array.from({ length: 400 }, (_, id) => {
      const delay = Math.floor(random() * 60);
      return { id, delay, timer: clock.setTimer(delay, () => fired.push(id)), dropped: random() < 0.5 };
    });
    for (const { dropped, timer } of timers) if (dropped) timer.cancel();
    const expected = timers
      .filter(({ dropped }) => !dropped)
      .sort((a, b) => a.delay - b.delay || a.id - b.id)
      .map(({ id }) => id);
    expect(clock.pending.foreground).toBe(expected.length);
    await clock.advance(1);
    expect(fired).toEqual(expected);
  });

  it("fires timers too that are armed on the way and fall due within the span", async () => {
    const clock = new FakeClock();
    const at: number[] = [];
    const beat = (): void => {
      at.push(clock.monotonic());
      clock.setTimer(1000, beat);
    };
    clock.setTimer(1000, beat);
    await clock.advance(3.5);
    expect(at).toEqual([1000, 2000, 3000]);
  });

  it("lets promises go on between two timers, and before the first", async () => {
    const clock = new FakeClock();
    const order: string[] = [];
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => clock.setTimer(ms, resolve));
    const walk = async (name: string): Promise<void> => {
      await Promise.resolve();
      for (let step = 1; step <= 2; step += 1) {
        await sleep(1000);
        for (let hop = 0; hop < 100; hop += 1) await Promise.resolve();
        order.push(`${name}${step} at ${clock.monotonic()}`);
      }
    };
    const walks = [walk("a"), walk("b")];
    await clock.advance(2);
    expect(order).toEqual(["a1 at 1000", "b1 at 1000", "a2 at 2000", "b2 at 2000"]);
    await Promise.all(walks);
  });

  it("waits for code that goes on by setImmediate, thirty times in a row, before time moves", async () => {
    const clock = new FakeClock();
    let goneOnAt: number | undefined;
    const hop = async (): Promise<void> => {
      for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      goneOnAt = clock.monotonic();
    };
    void hop();
    clock.setTimer(1000, () => {});
    await clock.advance(5);
    expect(goneOnAt).toBe(0);
  });

  it("does not move time when it only settles, and fires what is due at once", async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    clock.setTimer(0, () => fired.push("zero"));
    clock.setTimer(-5, () => fired.push("negative"));
    clock.setTimer(1, () => fired.push("later"));
    expect(fired).toEqual([]);
    await clock.settle();
    expect(fired).toEqual(["zero", "negative"]);
    expect(clock.monotonic()).toBe(0);
  });

  it("fires a timer in the async context that armed it, as the host does", async () => {
    const clock = new FakeClock();
    const storage = new AsyncLocalStorage<string>();
    let seen: string | undefined;
    storage.run("who armed it", () =>
      clock.setTimer(1, () => {
        seen = storage.getStore();
      }),
    );
    await storage.run("who moves time", () => clock.advance(1));
    expect(seen).toBe("who armed it");
  });

  it("runs advances that are asked for together one after the other", async () => {
    const clock = new FakeClock();
    const at: number[] = [];
    for (const ms of [500, 1500, 2500]) clock.setTimer(ms, () => at.push(clock.monotonic()));
    await Promise.all([clock.advance(1), clock.advance(1), clock.advance(1)]);
    expect(at).toEqual([500, 1500, 2500]);
    expect(clock.monotonic()).toBe(3000);
  });

  it("goes on for a body that itself moves time while the test does", async () => {
    const clock = new FakeClock();
    const body = async (): Promise<number> => {
      await new Promise<void>((resolve) => clock.setTimer(1000, resolve));
      await clock.advance(10);
      return clock.monotonic();
    };
    const running = body();
    await clock.advance(2);
    expect(await running).toBe(12_000);
  });

  it("is quick enough for tens of thousands of advances and timers", async () => {
    const clock = new FakeClock();
    let fired = 0;
    for (let index = 0; index < 10_000; index += 1) clock.setTimer(index * 7, () => fired++).cancel();
    for (let index = 1; index <= 10_000; index += 1) clock.setTimer(index * 1000, () => fired++);
    for (let index = 0; index < 10_000; index += 1) await clock.advance(1);
    expect(fired).toBe(10_000);
    expect(clock.pending).toEqual({ foreground: 0, background: 0 });
  });

  it("lets what the host reads arrive while it settles", async () => {
    const clock = new FakeClock();
    let read = false;
    void readFile(new URL(import.meta.url)).then(() => {
      read = true;
    });
    while (!read) await clock.settle();
    expect(clock.monotonic()).toBe(0);
  });
});
