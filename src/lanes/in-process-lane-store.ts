import { type Clock, systemClock } from "../base/clock.ts";
import { checkClock, checkOptions, readable } from "../base/option-checks.ts";
import { type Bound, limitsOf } from "./bound.ts";
import type { LaneStore, StoredPlaces, StoreLane } from "./lane-store.ts";
import { StartWindow } from "./start-window.ts";

/** What an {@link InProcessLaneStore} may be given. */
export interface InProcessLaneStoreOptions {
  /** Measures starts. Give the one that the `Lanes` have. Default: the host's. */
  readonly clock?: Clock;
}

interface SharedLane {
  readonly name: string;
  /** The bound that each place was asked with: the largest of them counts while they are out. */
  readonly places: Set<{ readonly inFlight: number }>;
  starts: StartWindow | null;
}

/**
 * Lanes shared by several `Lanes` of one process, as those of other processes will be by other stores.
 *
 * Give the same one to each. What they declare alike then holds for all of them together: tenants, tools, resources and
 * identical arguments. Within each `Lanes` order and fairness are as ever; between them, whoever listens first is first.
 *
 * @example
 * const store = new InProcessLaneStore();
 * const forUsers = new Lanes({ perTool: { search: 4 } }, { store });
 * const forCron = new Lanes({ perTool: { search: 4 } }, { store });
 */
export class InProcessLaneStore implements LaneStore {
  readonly #clock: Clock;
  readonly #lanes: Map<string, SharedLane> = new Map();
  readonly #listeners: Set<(lane: string) => void> = new Set();

  /** @throws ConfigurationError (`CONFIGURATION`) for an unknown option, or a clock that is none. */
  constructor(options: InProcessLaneStoreOptions = {}) {
    const { clock = systemClock } = checkOptions("store", options, ["clock"]) as InProcessLaneStoreOptions;
    readable("store", () => checkClock("store.clock", clock));
    this.#clock = clock;
  }

  tryAcquire(lanes: readonly StoreLane[]): StoredPlaces | undefined {
    const asked = lanes.map(({ lane, bound }) => ({ lane: this.#laneOf(lane, bound), limits: limitsOf(bound) }));
    let isFree = true;
    for (const { lane, limits } of asked) {
      let bound = limits.inFlight;
      for (const place of lane.places) bound = Math.max(bound, place.inFlight);
      if (lane.places.size >= bound) isFree = false;
      else if (lane.starts?.isShut() === true) {
        isFree = false;
        this.#tellWhenOpen(lane, lane.starts);
      }
    }
    if (!isFree) {
      for (const { lane } of asked) this.#forget(lane);
      return undefined;
    }
    const taken = new Map<string, () => boolean>();
    for (const { lane, limits } of asked) {
      const place = { inFlight: limits.inFlight };
      lane.places.add(place);
      lane.starts?.record();
      taken.set(lane.name, () => lane.places.delete(place));
    }
    return {
      release: (names) => {
        const freed = names.filter((name) => taken.get(name)?.() === true);
        for (const name of freed) this.#forget(this.#lanes.get(name));
        // All of them first: who hears of one may want another.
        for (const name of freed) this.#tell(name);
      },
    };
  }

  onFreed(listener: (lane: string) => void): () => void {
    const own = (lane: string): void => listener(lane);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      for (const lane of [...this.#lanes.values()]) {
        lane.starts?.reopening?.cancel();
        if (lane.starts !== null) lane.starts.reopening = null;
        this.#forget(lane);
      }
    };
  }

  #tell(name: string): void {
    for (const listener of [...this.#listeners]) listener(name);
  }

  #laneOf(name: string, bound: Bound): SharedLane {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { name, places: new Set(), starts: null };
      this.#lanes.set(name, lane);
    }
    const { rates } = limitsOf(bound);
    if (rates.length > 0) {
      if (lane.starts === null) lane.starts = new StartWindow(this.#clock, rates);
      else lane.starts.setRates(rates);
    }
    return lane;
  }

  /** Only time opens what a rate shuts. Nobody needs to be told once nobody listens. */
  #tellWhenOpen(lane: SharedLane, starts: StartWindow): void {
    starts.reopening ??= this.#clock.setTimer(starts.opensInMs(), () => {
      starts.reopening = null;
      this.#tell(lane.name);
      this.#forget(lane);
    });
  }

  /** A lane that nobody uses costs no memory, once its starts count no more. */
  #forget(lane: SharedLane | undefined): void {
    if (lane === undefined || lane.places.size > 0 || (lane.starts !== null && lane.starts.reopening !== null)) return;
    const { starts } = lane;
    const wait = starts === null ? 0 : starts.endsInMs();
    if (starts === null || wait === 0) {
      starts?.expiry?.cancel();
      this.#lanes.delete(lane.name);
      return;
    }
    starts.expiry ??= this.#clock.setTimer(
      wait,
      () => {
        starts.expiry = null;
        this.#forget(lane);
      },
      { background: true },
    );
  }
}
