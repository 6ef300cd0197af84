interface Count {
  inFlight: number;
  peak: number;
  starts: number;
}

/**
 * Counts bodies from inside the bodies, so that a bound is checked against what runs and not against a gauge.
 *
 * A body is in flight from its first line until it returned or threw, however long ago its caller gave it up.
 */
export class Witness {
  readonly #all: Count = { inFlight: 0, peak: 0, starts: 0 };
  readonly #byName = new Map<string, Count>();
  readonly #order: string[] = [];

  /** What started and ended, in order: `"search starts"`, `"search ends"`. */
  get order(): string[] {
    return [...this.#order];
  }

  /** How many bodies are in flight now: of this name, or of all. */
  inFlight(name?: string): number {
    return this.#of(name).inFlight;
  }

  /** How many bodies were in flight at once at the worst moment: of this name, or of all. */
  peak(name?: string): number {
    return this.#of(name).peak;
  }

  /** How many bodies ever started: of this name, or of all. */
  starts(name?: string): number {
    return this.#of(name).starts;
  }

  /** Counts a body from now on until the function that it returns is called; calling that twice is harmless. */
  enter(name: string): () => void {
    let count = this.#byName.get(name);
    if (count === undefined) {
      count = { inFlight: 0, peak: 0, starts: 0 };
      this.#byName.set(name, count);
    }
    const counts = [this.#all, count];
    for (const one of counts) {
      one.starts += 1;
      one.inFlight += 1;
      one.peak = Math.max(one.peak, one.inFlight);
    }
    this.#order.push(`${name} starts`);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      for (const one of counts) one.inFlight -= 1;
      this.#order.push(`${name} ends`);
    };
  }

  /** Runs a body and counts it until it has ended. Gives what the body gives, and throws what it throws. */
  body<R>(name: string, run: () => R): R {
    const leave = this.enter(name);
    let result: R;
    try {
      result = run();
    } catch (error) {
      leave();
      throw error;
    }
    if (!isPromiseLike(result)) {
      leave();
      return result;
    }
    // The first to listen: whoever awaits the body sees it counted out.
    const settled = Promise.resolve(result);
    settled.then(leave, leave);
    return settled as R;
  }

  /** A function that does what `run` does and is counted each time: for a tool's `run`. */
  wrap<Args extends unknown[], R>(name: string, run: (...args: Args) => R): (...args: Args) => R {
    return (...args) => this.body(name, () => run(...args));
  }

  #of(name: string | undefined): Readonly<Count> {
    return name === undefined ? this.#all : (this.#byName.get(name) ?? { inFlight: 0, peak: 0, starts: 0 });
  }
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
