import type { Clock, Timer } from "../base/clock.ts";
import type { StartRate } from "./bound.ts";

/** Below what a clock resolves: a timer that comes due by a rounding error early must not find the lane shut again. */
const ROUNDING_MS = 1e-6;

/**
 * The recent starts of one lane, and whether another one may follow (`Semantics 4.1`).
 *
 * W1 In every stretch of `perSeconds`, of each rate, at most `count` calls start.
 * W2 It holds no more start times than its largest count.
 */
export class StartWindow {
  /** Re-opens the lane; armed only while somebody waits in it. */
  reopening: Timer | null = null;
  /** Takes an idle lane away once its window is over. */
  expiry: Timer | null = null;
  #rates: readonly StartRate[];
  readonly #clock: Clock;
  /** Start times, oldest first; those before `#first` are over. */
  #times: number[] = [];
  #first = 0;

  constructor(clock: Clock, rates: readonly StartRate[]) {
    this.#clock = clock;
    this.#rates = rates;
  }

  get rates(): readonly StartRate[] {
    return this.#rates;
  }

  /** Takes other rates; the starts so far count for them too. False when they are no others. */
  setRates(rates: readonly StartRate[]): boolean {
    if (this.#rates === rates) return false;
    this.#rates = rates;
    return true;
  }

  isShut(): boolean {
    return this.opensInMs() > 0;
  }

  /** Milliseconds until the next call may start; 0 when it may at once. */
  opensInMs(): number {
    let wait = 0;
    const now = this.#clock.monotonic();
    for (const { count, perSeconds } of this.#rates) {
      const place = this.#times.length - count;
      if (place < this.#first) continue;
      wait = Math.max(wait, (this.#times[place] as number) + perSeconds * 1000 - now);
    }
    return wait > ROUNDING_MS ? wait : 0;
  }

  record(): void {
    this.#times.push(this.#clock.monotonic());
    let most = 0;
    for (const { count } of this.#rates) most = Math.max(most, count);
    this.#first = Math.max(this.#first, this.#times.length - most);
    // Moving the live part to the front now and then keeps both the memory and the cost of a start bounded.
    if (this.#first > 32 && this.#first * 2 > this.#times.length) {
      this.#times = this.#times.slice(this.#first);
      this.#first = 0;
    }
  }

  /** Milliseconds until no start counts any more; 0 when none does. */
  endsInMs(): number {
    if (this.#times.length === this.#first) return 0;
    let longest = 0;
    for (const { perSeconds } of this.#rates) longest = Math.max(longest, perSeconds);
    const wait = (this.#times[this.#times.length - 1] as number) + longest * 1000 - this.#clock.monotonic();
    return wait > ROUNDING_MS ? wait : 0;
  }
}
