/** Things in order, on their way from one loop to another. One taker. */
export class Feed<T> {
  readonly #things: T[] = [];
  #next = 0;
  #hasEnded = false;
  #wake: (() => void) | undefined;

  push(thing: T): void {
    this.#things.push(thing);
    this.#wake?.();
  }

  /** Nothing more comes. */
  end(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }

  /** Nothing when `take` would give something at once; else what resolves when it would. */
  more(): Promise<void> | undefined {
    if (this.#next < this.#things.length || this.#hasEnded) return undefined;
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** The next, or nothing when all have been taken. */
  take(): T | undefined {
    return this.#things[this.#next++];
  }
}
