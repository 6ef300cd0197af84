import type { Clock, Timer } from "../../src/base/clock.ts";

interface HandTimer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/** A clock that a simulation moves itself, in one go: no turns of the host's loop in between. */
export class HandClock implements Clock {
  time = 0;
  #timers: HandTimer[] = [];
  #armed = 0;

  now(): number {
    return this.time;
  }

  monotonic(): number {
    return this.time;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    // Whole nanoseconds: 0.007 s are 7 ms, and not a rounding error more.
    const timer = { at: Math.round((this.time + delayMs) * 1e6) / 1e6, order: this.#armed, fire };
    this.#armed += 1;
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  get pending(): number {
    return this.#timers.length;
  }

  /** Whether a timer is due at this very moment: until it has fired, the moment is not over. */
  get isDue(): boolean {
    return this.#timers.some(({ at }) => at <= this.time);
  }

  /** Moves to the next timer due at or before `limit` and fires it; false when there is none. */
  step(limit: number): boolean {
    const next = this.#timers.reduce<HandTimer | undefined>(
      (a, b) => (a === undefined || b.at < a.at || (b.at === a.at && b.order < a.order) ? b : a),
      undefined,
    );
    if (next === undefined || next.at > limit) return false;
    this.#timers = this.#timers.filter((other) => other !== next);
    this.time = Math.max(this.time, next.at);
    next.fire();
    return true;
  }

  /** Moves to a moment, firing whatever is due on the way. */
  moveTo(moment: number): void {
    while (this.step(moment));
    this.time = Math.max(this.time, moment);
  }
}
