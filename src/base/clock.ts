/** A pending timer of a {@link Clock}. */
export interface Timer {
  /** Stops the timer; harmless when it has fired or was cancelled before. */
  cancel(): void;
}

/**
 * Where the runtime reads time and waits for it (`Semantics 10.1`).
 *
 * Inject one to drive time by hand; {@link systemClock} is the default. `lanekeeper/testing` has a `FakeClock`.
 */
export interface Clock {
  /** Wall-clock time in epoch milliseconds. Stamps events; never measures a duration. */
  now(): number;
  /** Monotonic time in milliseconds from an arbitrary start. Measures every duration. */
  monotonic(): number;
  /**
   * Calls `fire` once, `delayMs` milliseconds from now.
   *
   * Any finite delay works, also one over 2^31 ms; a delay that is not positive fires as soon as the host allows.
   * With `background: true` the timer alone does not keep the process alive.
   */
  setTimer(delayMs: number, fire: () => void, options?: { background?: boolean }): Timer;
}

/** The longest delay that a host timer takes; longer ones are re-armed in pieces. */
const LONGEST_HOST_DELAY_MS = 2 ** 31 - 1;

class SystemTimer implements Timer {
  #handle: ReturnType<typeof setTimeout>;
  readonly #dueAt: number;
  readonly #fire: () => void;
  readonly #background: boolean;

  constructor(delayMs: number, fire: () => void, background: boolean) {
    this.#dueAt = performance.now() + delayMs;
    this.#fire = fire;
    this.#background = background;
    this.#handle = this.#arm(delayMs);
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }

  #arm(delayMs: number): ReturnType<typeof setTimeout> {
    const handle =
      delayMs <= LONGEST_HOST_DELAY_MS
        ? setTimeout(this.#fire, Math.max(0, Math.ceil(delayMs)))
        : setTimeout(() => {
            this.#handle = this.#arm(this.#dueAt - performance.now());
          }, LONGEST_HOST_DELAY_MS);
    if (this.#background) handle.unref?.();
    return handle;
  }
}

/** The host's own clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: (delayMs, fire, options) => new SystemTimer(delayMs, fire, options?.background === true),
};
