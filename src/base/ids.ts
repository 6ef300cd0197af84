/** Where the runtime gets identifiers from (`Semantics 10.1`). */
export interface Ids {
  /** A new identifier, never given before. `kind` says what for and may be made part of it. */
  next(kind: "run" | "call"): string;
}

/** Random UUIDs with the kind in front: `run_1b9d…`. */
export const systemIds: Ids = {
  next: (kind) => `${kind}_${globalThis.crypto.randomUUID()}`,
};
