import { FakeClock, leakCheck, ScriptedProvider, say, TestingError } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

const idle = { lanes: () => [{ lane: "tool:search", inFlight: 0, waiting: 0 }] };
const counts = (): number[] =>
  ["unhandledRejection", "warning", "uncaughtExceptionMonitor"].map((name) => process.listenerCount(name));

/** Takes away who else listens to the process, the test runner above all, so that none of them takes ours for theirs. */
async function alone(event: "unhandledRejection" | "warning", run: () => Promise<void>): Promise<void> {
  const others = process.rawListeners(event);
  process.removeAllListeners(event);
  try {
    await run();
  } finally {
    for (const other of others) process.on(event, other as () => void);
  }
}

async function problemsOf(leaks: { done(): Promise<void> }): Promise<readonly string[]> {
  try {
    await leaks.done();
    return [];
  } catch (error) {
    if (error instanceof TestingError) return error.problems;
    throw error;
  }
}

describe("leakCheck: a test leaves nothing behind", () => {
  it("is content with empty lanes, no timers, no listeners and a finished script", async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const leaks = leakCheck(idle, { clock, signal: stop.signal, provider: new ScriptedProvider() });
    clock.setTimer(0, () => {});
    await leaks.done();
    await leaks.done();
  });

  it("names each lane that somebody stands in or before", async () => {
    const runner = {
      lanes: () => [
        { lane: "tool:search", inFlight: 1, waiting: 0 },
        { lane: { kind: "tenant", name: "acme" }, inFlight: 0, waiting: 2 },
        { lane: "turn", inFlight: 0, waiting: 0 },
      ],
    };
    expect(await problemsOf(leakCheck(runner))).toEqual([
      "lane tool:search: 1 in flight, 0 waiting",
      'lane {"kind":"tenant","name":"acme"}: 0 in flight, 2 waiting',
    ]);
  });

  it("takes lanes themselves as well as a runner, and nothing else", async () => {
    const lanes = { snapshot: () => [{ lane: "x", inFlight: 1, waiting: 0 }] };
    expect(await problemsOf(leakCheck(lanes))).toHaveLength(1);
    expect(() => leakCheck({} as never)).toThrow(/expected a runner or lanes/);
    expect(() => leakCheck(idle, { clocks: 1 } as never)).toThrow(/leakCheck\.clocks: unknown option/);
  });

  it("names timers that are still pending, background ones unless they are allowed", async () => {
    const clock = new FakeClock();
    clock.setTimer(1000, () => {}, { background: true });
    expect((await problemsOf(leakCheck(idle, { clock })))[0]).toMatch(/a background timer due in 1 s/);
    expect(await problemsOf(leakCheck(idle, { clock, allowBackground: true }))).toEqual([]);
    clock.setTimer(2000, () => {});
    expect(await problemsOf(leakCheck(idle, { clock, allowBackground: true }))).not.toEqual([]);
  });

  it("counts the listeners that were added to watched signals, and those only", async () => {
    const stop = new AbortController();
    stop.signal.addEventListener("abort", () => {});
    const second = new AbortController();
    const untouched = new AbortController();
    untouched.signal.addEventListener("abort", () => {});
    const leaks = leakCheck(idle, { signals: [stop.signal, untouched.signal] });
    leaks.watch(second.signal);
    stop.signal.addEventListener("abort", () => {});
    const stopListening = (): void => {};
    second.signal.addEventListener("abort", stopListening);
    second.signal.removeEventListener("abort", stopListening);
    expect(await problemsOf(leaks)).toEqual(["a watched signal has 2 abort listeners, 1 when the watch began"]);
  });

  it("says what the provider says of its script", async () => {
    const provider = new ScriptedProvider(say("never"));
    expect(await problemsOf(leakCheck(idle, { provider }))).toEqual(['step 1 of 1 was never asked for: says "never"']);
  });

  it("hears process warnings but those that say nothing of leaks", () =>
    alone("warning", async () => {
      const leaks = leakCheck(idle);
      process.emitWarning("new", "ExperimentalWarning");
      process.emitWarning("old", "DeprecationWarning");
      process.emitWarning("many", "MaxListenersExceededWarning");
      expect(await problemsOf(leaks)).toEqual(["the process warned: MaxListenersExceededWarning: many"]);
    }));

  it("hears rejections that nobody listened to", () =>
    alone("unhandledRejection", async () => {
      const leaks = leakCheck(idle);
      void Promise.reject(new RangeError("unheard"));
      expect(await problemsOf(leaks)).toEqual(["a promise was rejected and nobody listened: RangeError: unheard"]);
    }));

  it("tells everything that it found together", async () => {
    const clock = new FakeClock();
    clock.setTimer(1, () => {});
    const stop = new AbortController();
    const leaks = leakCheck(
      { lanes: () => [{ lane: "a", inFlight: 1, waiting: 0 }] },
      { clock, signal: stop.signal, provider: new ScriptedProvider(say("x")) },
    );
    stop.signal.addEventListener("abort", () => {});
    expect(await problemsOf(leaks)).toHaveLength(4);
  });

  it("ends the watch once, and says the same when it is asked again", async () => {
    const gauge = { lane: "a", inFlight: 1, waiting: 0 };
    const leaks = leakCheck({ lanes: () => [gauge] });
    expect(await problemsOf(leaks)).toHaveLength(1);
    gauge.inFlight = 0;
    expect(await problemsOf(leaks)).toHaveLength(1);
  });

  it("listens to the process once however many watch, and no more after the last", async () => {
    const before = counts();
    const all = Array.from({ length: 30 }, () => leakCheck(idle));
    expect(counts()).toEqual(before.map((count) => count + 1));
    await Promise.all(all.map((leaks) => leaks.done()));
    expect(counts()).toEqual(before);
  });

  it("ends the watch also when reading the lanes throws", async () => {
    const before = counts();
    const broken = {
      lanes: () => {
        throw new Error("closed");
      },
    };
    await expect(leakCheck(broken).done()).rejects.toThrow("closed");
    expect(counts()).toEqual(before);
  });
});
