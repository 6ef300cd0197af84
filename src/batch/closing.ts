/**
 * Whether a run, or one above it, is about to stop: then nothing of it goes out any more (`Semantics 7.1`, `8`).
 *
 * Between the first failure under `fail_run` and the stop lies the rest of a turn of the event loop.
 */
export class Closing {
  readonly #above: Closing | undefined;
  #isHere = false;

  constructor(above?: Closing) {
    this.#above = above;
  }

  /** From here on nothing goes out. False when this run was about to stop before. */
  close(): boolean {
    const isNew = !this.#isHere;
    this.#isHere = true;
    return isNew;
  }

  get isClosed(): boolean {
    return this.#isHere || this.#above?.isClosed === true;
  }
}
