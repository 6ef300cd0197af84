import type { Ids } from "../base/ids.ts";

/** Ids that count from 1, each kind by itself: `run_1`, `run_2`, `call_1`. */
export class SequentialIds implements Ids {
  readonly #given = new Map<string, number>();

  next(kind: "run" | "call"): string {
    const number = (this.#given.get(kind) ?? 0) + 1;
    this.#given.set(kind, number);
    return `${kind}_${number}`;
  }
}
