import type { Clock, Timer } from "../base/clock.ts";

/** A duration that can stand still: it fires once `seconds` have passed in which it was running. */
export class Ceiling {
  readonly #clock: Clock;
  readonly #fire: () => void;
  #leftMs: number;
  #runningSince: number | undefined;
  #timer: Timer | undefined;

  /** Starts at once. */
  constructor(clock: Clock, seconds: number, fire: () => void) {
    this.#clock = clock;
    this.#fire = fire;
    this.#leftMs = seconds * 1000;
    this.resume();
  }

  /** Stands still from now. */
  pause(): void {
    if (this.#runningSince === undefined) return;
    this.#leftMs -= this.#clock.monotonic() - this.#runningSince;
    this.#runningSince = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Runs on. */
  resume(): void {
    if (this.#runningSince !== undefined || this.#leftMs === Number.NEGATIVE_INFINITY) return;
    this.#runningSince = this.#clock.monotonic();
    this.#timer = this.#clock.setTimer(this.#leftMs, () => {
      this.cancel();
      this.#fire();
    });
  }

  /** Never fires any more. */
  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#runningSince = undefined;
    this.#leftMs = Number.NEGATIVE_INFINITY;
  }
}
