/**
 * Whether a model has asked for all that it will in a turn, and so has every model above whose call this is below.
 *
 * Before that only what may be called again goes out, and nobody is asked for a decision (`Semantics 3.10`).
 */
export class Whole {
  readonly #above: Whole | undefined;
  #isHere = false;
  #tell: () => void = () => {};
  #told: Promise<void> | undefined;

  constructor(above?: Whole) {
    this.#above = above;
  }

  /** Of this turn alone. */
  get isHere(): boolean {
    return this.#isHere;
  }

  get isAll(): boolean {
    return this.#isHere && this.#above?.isAll !== false;
  }

  /** The turn's response is whole, or will never be. */
  complete(): void {
    this.#isHere = true;
    this.#tell();
  }

  /** Resolves when everything is whole. */
  async untilAll(): Promise<void> {
    if (!this.#isHere) {
      this.#told ??= new Promise((resolve) => {
        this.#tell = resolve;
      });
      await this.#told;
    }
    await this.#above?.untilAll();
  }
}
