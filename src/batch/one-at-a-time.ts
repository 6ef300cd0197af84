/** Lets one at a time through, first come, first served. Costs nothing while nobody stands in another's way. */
export class OneAtATime {
  #isTaken = false;
  readonly #waiting: (() => void)[] = [];

  /** Nothing when it is free, and then it is taken; else what resolves once it is this one's turn. */
  enter(): Promise<void> | undefined {
    if (this.#isTaken) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#isTaken = true;
    return undefined;
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#isTaken = false;
    else next();
  }
}
