import type { Lane } from "./lane.ts";
import type { Permit } from "./permit.ts";

/** What is known of a store's answers about the same lanes. */
export class StoreAnswers {
  /** The shared lanes that it is about. */
  readonly places: readonly Lane[];
  /** What it refused last: whoever wants as much would be refused too. Null when it may be asked. */
  refused: readonly Lane[] | null = null;
  /** One call asks for all that wait for these lanes. */
  asking = false;
  /** Whether it told of a place that came free while an answer was outstanding. */
  freed = false;
  /** Calls whose answer is outstanding, the oldest first. */
  readonly claimants: Permit[] = [];
  /** How many answers are outstanding: more than claimants when some gave up meanwhile. */
  outstanding = 0;

  constructor(places: readonly Lane[]) {
    this.places = places;
  }
}
