/**
 * A clock whose time moves only when a test says so.
 *
 * Owns the time, the pending timers and the order in which they fire. What runs between two timers is the host's
 * (`host-turns.ts`).
 *
 * C1 Timers fire in the order of their due times, ties in the order of arming, each at exactly its due time.
 * C2 Before time moves, everything that can run without it has run; timers armed on the way count.
 * C3 One thing moves time at once: advances asked for together run one after the other.
 * C4 `now()` and `monotonic()` move together, but for `jumpWallClock`; `monotonic()` never goes back.
 */
import { AsyncResource } from "node:async_hooks";
import type { Clock, Timer } from "../base/clock.ts";
import { checkOptions, refuse } from "../base/option-checks.ts";
import { hostTurn, settleHost } from "./host-turns.ts";
import { TestingError } from "./testing-error.ts";
import { type HeapTimer, TimerHeap } from "./timer-heap.ts";

/** Options of a {@link FakeClock}. */
export interface FakeClockOptions {
  /** What `now()` tells at first, in epoch milliseconds. Default: 2030-01-01T00:00:00Z. */
  startAt?: number;
  /** Whether time jumps to the next timer whenever everything waits. Default false; see {@link FakeClock.autoAdvance}. */
  autoAdvance?: boolean;
  /** Whether each timer remembers where it was armed, for messages. Costs a stack per timer. Default false. */
  traceTimers?: boolean;
}

/** One timer that has not fired. */
export interface PendingTimer {
  /** Seconds until it is due by the clock's time; 0 or less when it is due already. */
  dueInSeconds: number;
  /** Whether it was armed with `background: true`. */
  background: boolean;
  /** The stack of its arming, only with `traceTimers: true`. */
  armedAt?: string;
}

interface ArmedTimer extends HeapTimer {
  readonly fire: () => void;
  readonly background: boolean;
  readonly stack: string | undefined;
}

const DEFAULT_START = Date.UTC(2030, 0, 1);
/** Firings without a move of time after which something re-arms itself for ever. */
const MOST_AT_ONE_INSTANT = 50_000;

/**
 * A clock for tests: time stands still until the test moves it.
 *
 * `await clock.advance(seconds)` goes from one due timer to the next and lets everything run in between, so one
 * call stands for a whole span of waiting, retries and ceilings. Nothing sleeps.
 *
 * @example
 * const clock = new FakeClock();
 * const runner = new AgentRunner({ provider, tools, clock, deadlines: { runSeconds: 300 } });
 * const running = runner.run(agent, "Go.");
 * await clock.advance(300);
 * expect((await running).status).toBe("failed");
 */
export class FakeClock implements Clock {
  /**
   * Whether time jumps to the next due timer whenever everything waits. May be changed at any time.
   *
   * "Everything waits" means: some turns of the event loop passed and nobody has a `setImmediate` pending. Waiting for
   * a socket, a thread, a child process or a slow disk looks the same and is jumped over: move time by hand there.
   * Timers armed with `background: true` fire on the way but are no reason to jump, as they keep no process alive.
   */
  get autoAdvance(): boolean {
    return this.#autoAdvance;
  }

  set autoAdvance(on: boolean) {
    this.#autoAdvance = on;
    this.#jumpWhenQuiet();
  }

  readonly #startAt: number;
  readonly #traceTimers: boolean;
  readonly #timers = new TimerHeap<ArmedTimer>();
  readonly #pending = { foreground: 0, background: 0 };
  #autoAdvance: boolean;
  #jumping = false;
  #elapsedMs = 0;
  #wallOffsetMs = 0;
  #armed = 0;
  #firedAtThisInstant = 0;
  #turn: Promise<unknown> = Promise.resolve();

  /** @throws CONFIGURATION for an unknown option or a `startAt` that is no finite number. */
  constructor(options: FakeClockOptions = {}) {
    const given = checkOptions("FakeClock", options, ["startAt", "autoAdvance", "traceTimers"]);
    const { startAt = DEFAULT_START, autoAdvance = false, traceTimers = false } = given as FakeClockOptions;
    if (!Number.isFinite(startAt)) refuse("FakeClock.startAt", "epoch milliseconds", startAt);
    for (const [name, on] of Object.entries({ autoAdvance, traceTimers })) {
      if (typeof on !== "boolean") refuse(`FakeClock.${name}`, "true or false", on);
    }
    this.#startAt = startAt;
    this.#autoAdvance = autoAdvance;
    this.#traceTimers = traceTimers;
  }

  now(): number {
    return this.#startAt + this.#wallOffsetMs + this.#elapsedMs;
  }

  /** Milliseconds that this clock was advanced, from 0. */
  monotonic(): number {
    return this.#elapsedMs;
  }

  /**
   * Fires once the clock was moved that far. A delay that is not positive is due at once, and fires with the next
   * `settle` or `advance`.
   *
   * @throws CONFIGURATION for a delay that is not finite.
   */
  setTimer(delayMs: number, fire: () => void, options?: { background?: boolean }): Timer {
    if (!Number.isFinite(delayMs)) refuse("FakeClock.setTimer delayMs", "a finite number of milliseconds", delayMs);
    if (typeof fire !== "function") refuse("FakeClock.setTimer fire", "a function", fire);
    const timer: ArmedTimer = {
      dueAt: toNanosecond(this.#elapsedMs + Math.max(0, delayMs)),
      armed: this.#armed++,
      place: -1,
      // As on the host, a timer fires in the async context that armed it, not in that of whoever moves time.
      fire: AsyncResource.bind(fire),
      background: options?.background === true,
      stack: this.#traceTimers ? new Error().stack : undefined,
    };
    this.#timers.add(timer);
    this.#pending[timer.background ? "background" : "foreground"] += 1;
    this.#jumpWhenQuiet();
    return { cancel: () => this.#take(timer) };
  }

  /** How many timers have neither fired nor been cancelled: those that keep a process alive, and the others. */
  get pending(): { foreground: number; background: number } {
    return { ...this.#pending };
  }

  /** The timers that have neither fired nor been cancelled, the next due first. */
  pendingTimers(): PendingTimer[] {
    return this.#timers.sorted().map(({ dueAt, background, stack }) => ({
      dueInSeconds: (dueAt - this.#elapsedMs) / 1000,
      background,
      ...(stack === undefined ? {} : { armedAt: callerOf(stack) }),
    }));
  }

  /**
   * Moves time by `seconds`, from one due timer to the next, and lets everything run before each.
   *
   * Timers armed on the way fire too when they fall due within the span. Zero fires what is due now. What a timer's
   * function throws rejects the promise; time then stands at that timer and the others are still pending.
   *
   * @throws CONFIGURATION for a negative or infinite number, `NaN` or text; TESTING when timers fire for ever at one instant.
   */
  async advance(seconds: number): Promise<void> {
    if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds < 0) {
      refuse("FakeClock.advance seconds", "a finite number of at least 0", seconds);
    }
    return this.#inTurn(async () => {
      await settleHost();
      const target = toNanosecond(this.#elapsedMs + seconds * 1000);
      for (let next = this.#timers.first; next !== undefined && next.dueAt <= target; next = this.#timers.first) {
        this.#fire(next);
        // Within one instant microtasks run between two timers, as on the host; immediates come after the instant. They
        // may also cancel the timer that was to follow.
        if (this.#isInInstant()) await hostTurn();
        if (!this.#isInInstant()) await settleHost();
      }
      this.#moveTo(target);
    });
  }

  /** Lets everything run that needs no more time, timers that are due included. Does not move time. */
  settle(): Promise<void> {
    return this.advance(0);
  }

  /** Moves `now()` and not `monotonic()`, as when the machine's clock is set. Negative seconds set it back; no timer fires. */
  jumpWallClock(seconds: number): void {
    if (typeof seconds !== "number" || !Number.isFinite(seconds)) {
      refuse("FakeClock.jumpWallClock seconds", "a finite number", seconds);
    }
    this.#wallOffsetMs += seconds * 1000;
  }

  /**
   * Gives what `promise` brings when it needs no more time than has passed.
   *
   * For the test that would otherwise hang: it says which timers the promise may be waiting for.
   *
   * @throws TESTING when everything waits and the promise has not settled.
   */
  async promptly<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    promise.then(settle, settle);
    await this.settle();
    if (!settled) {
      throw new TestingError(
        "A promise waits for time that nobody moves, or for something that nobody does.",
        this.#describe(),
      );
    }
    return promise;
  }

  /**
   * Throws when timers are pending, and names them; with `traceTimers: true` also where they were armed.
   *
   * @throws TESTING
   */
  assertIdle(options: { allowBackground?: boolean } = {}): void {
    const { allowBackground } = checkOptions("FakeClock.assertIdle", options, ["allowBackground"]);
    const { foreground, background } = this.#pending;
    if (foreground + (allowBackground === true ? 0 : background) > 0) {
      throw new TestingError("Timers are pending that nobody waits for or moves time for.", this.#describe());
    }
  }

  #describe(): string[] {
    const timers = this.pendingTimers();
    if (timers.length === 0) return ["no timer is pending"];
    const shown = timers.slice(0, 10).map(({ dueInSeconds, background, armedAt }) => {
      const where = armedAt ?? "armed where? pass traceTimers: true to the FakeClock";
      return `a ${background ? "background " : ""}timer due in ${dueInSeconds} s, ${where}`;
    });
    return timers.length > 10 ? [...shown, `and ${timers.length - 10} more`] : shown;
  }

  /** Runs one mover of time after those before it, whatever became of them (C3). */
  #inTurn(move: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(move);
    this.#turn = done.catch(() => {});
    return done;
  }

  /** Whether another timer is due without time moving. */
  #isInInstant(): boolean {
    const next = this.#timers.first;
    return next !== undefined && next.dueAt <= this.#elapsedMs;
  }

  #moveTo(elapsedMs: number): void {
    if (elapsedMs <= this.#elapsedMs) return;
    this.#elapsedMs = elapsedMs;
    this.#firedAtThisInstant = 0;
  }

  #take(timer: ArmedTimer): void {
    if (this.#timers.remove(timer)) this.#pending[timer.background ? "background" : "foreground"] -= 1;
  }

  #fire(timer: ArmedTimer): void {
    this.#moveTo(timer.dueAt);
    this.#take(timer);
    this.#firedAtThisInstant += 1;
    if (this.#firedAtThisInstant > MOST_AT_ONE_INSTANT) {
      throw new TestingError(
        `More than ${MOST_AT_ONE_INSTANT} timers fired without time moving: something re-arms a timer without a delay.`,
        this.#describe(),
      );
    }
    timer.fire();
  }

  #jumpWhenQuiet(): void {
    if (this.#jumping || !this.#autoAdvance || this.#pending.foreground === 0) return;
    this.#jumping = true;
    void this.#jump();
  }

  async #jump(): Promise<void> {
    while (this.#autoAdvance && this.#pending.foreground > 0) {
      await this.#inTurn(async () => {
        await settleHost();
        const next = this.#timers.first;
        if (next !== undefined && this.#autoAdvance && this.#pending.foreground > 0) this.#fire(next);
      }).catch((error: unknown) => {
        // Nobody awaits a jump: what a timer throws goes where a host timer's would.
        queueMicrotask(() => {
          throw error;
        });
      });
    }
    this.#jumping = false;
  }
}

/** Whole nanoseconds, so that 0.1 s three times is 0.3 s; left as it is where doubles are coarser than that. */
function toNanosecond(ms: number): number {
  return ms < 2 ** 32 ? Math.round(ms * 1e6) / 1e6 : ms;
}

/** The frames of a stack from the caller of `setTimer` on, four at most, in one line. */
function callerOf(stack: string): string {
  const frames = stack.split("\n").map((line) => line.trim());
  return `armed ${frames.slice(2, 6).join(" ")}`;
}
