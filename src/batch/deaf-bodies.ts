import type { Clock, Timer } from "../base/clock.ts";

/** The places of a body, as far as its afterlife cares. */
export interface HeldPlaces {
  /** Gives the places back although the body runs. */
  abandon(): void;
  /** Calls once when the places have gone back, at once if they have. */
  onGivenBack(call: () => void): void;
}

/** A body that outlives its verdict. */
export interface DeafBody {
  readonly places: HeldPlaces;
  /** Counted from the verdict: until then the body may still end by itself. */
  readonly seconds: number;
  /** Whether its places go back then; otherwise its lane waits, and only that is told. */
  readonly abandon: boolean;
  /** The seconds have passed. Told before the places go back. */
  readonly onDue: () => void;
}

interface Watched {
  readonly body: DeafBody;
  readonly dueAtMs: number;
  timer: Timer;
}

/**
 * Bodies that ignore their signal, and what becomes of the places they hold (`Semantics 4.8`).
 *
 * D1. A body that ends in time is forgotten and leaves no timer.
 * D2. One that does not is told once, and its places go back if it may be abandoned.
 * D3. While a run is active the timers keep the process alive, since that run may wait for such a place; with no run
 *     active they do not, since then nobody does (`Semantics 2.8`).
 */
export class DeafBodies {
  /** One for each `Lanes`: a batch waits for what an earlier one left there (D3). */
  static readonly #ofLanes = new WeakMap<object, DeafBodies>();

  /** The deaf bodies in these lanes, by this clock. */
  static of(lanes: object, clock: Clock): DeafBodies {
    const known = DeafBodies.#ofLanes.get(lanes);
    if (known !== undefined && known.#clock === clock) return known;
    const made = new DeafBodies(clock);
    DeafBodies.#ofLanes.set(lanes, made);
    return made;
  }

  readonly #clock: Clock;
  readonly #watched = new Set<Watched>();
  #runs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A run has become active. */
  runStarted(): void {
    if (this.#runs++ === 0) this.#rearm();
  }

  /** A run has settled. */
  runSettled(): void {
    if (--this.#runs === 0) this.#rearm();
  }

  /** Watches a body from its verdict on; `Infinity` seconds are never over. */
  watch(body: DeafBody): void {
    let givenBack = false;
    let watched: Watched | undefined;
    body.places.onGivenBack(() => {
      givenBack = true;
      if (watched !== undefined && this.#watched.delete(watched)) watched.timer.cancel();
    });
    if (givenBack || body.seconds === Number.POSITIVE_INFINITY) return;
    const dueAtMs = this.#clock.monotonic() + body.seconds * 1000;
    watched = { body, dueAtMs, timer: NONE };
    this.#watched.add(watched);
    this.#arm(watched);
  }

  #arm(watched: Watched): void {
    const fire = (): void => {
      this.#watched.delete(watched);
      watched.body.onDue();
      if (watched.body.abandon) watched.body.places.abandon();
    };
    const leftMs = watched.dueAtMs - this.#clock.monotonic();
    watched.timer = this.#clock.setTimer(leftMs, fire, { background: this.#runs === 0 });
  }

  #rearm(): void {
    for (const watched of this.#watched) {
      watched.timer.cancel();
      this.#arm(watched);
    }
  }
}

const NONE: Timer = { cancel: () => {} };
