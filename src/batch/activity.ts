/** What a run or a call is doing, as far as its ceilings care. */
export type Doing = "busy" | "lanes" | "people";

/**
 * Whether work goes on below a point of the run tree, or everything there waits (`Semantics 3.8`, `7.4`).
 *
 * Each run and each call is a node. A node counts what it does itself and what each node below it is doing; from that
 * follows one state: `busy` while anything works, else `lanes` while anything waits for a lane, else `people` while a
 * decision is open, else `idle`. Only a change of state goes up, so a wide batch costs its caller two updates.
 */
export class Activity {
  readonly #above: Activity | undefined;
  readonly #count: Record<Doing, number> = { busy: 0, lanes: 0, people: 0 };
  #onChange: ((state: Doing | "idle") => void) | undefined;
  #state: Doing | "idle" = "idle";

  constructor(above?: Activity) {
    this.#above = above;
  }

  get state(): Doing | "idle" {
    return this.#state;
  }

  /** Tells `listener` each change of state. One listener at most. */
  onChange(listener: ((state: Doing | "idle") => void) | undefined): void {
    this.#onChange = listener;
  }

  /** One more thing of this kind goes on here. */
  begin(doing: Doing): void {
    this.#count[doing]++;
    this.#derive();
  }

  /** One thing of this kind is over. */
  end(doing: Doing): void {
    this.#count[doing]--;
    this.#derive();
  }

  /** One thing turns from one kind into another, without an idle moment in between. */
  turn(from: Doing, to: Doing): void {
    this.#count[from]--;
    this.#count[to]++;
    this.#derive();
  }

  #derive(): void {
    const { busy, lanes, people } = this.#count;
    const next = busy > 0 ? "busy" : lanes > 0 ? "lanes" : people > 0 ? "people" : "idle";
    const last = this.#state;
    if (next === last) return;
    this.#state = next;
    const above = this.#above;
    if (above !== undefined) {
      if (last === "idle") above.begin(next as Doing);
      else if (next === "idle") above.end(last);
      else above.turn(last, next);
    }
    this.#onChange?.(next);
  }
}
