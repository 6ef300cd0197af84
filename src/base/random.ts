/** Where the runtime gets randomness from (`Semantics 10.1`): a number in [0, 1). */
export type Random = () => number;

/** The host's randomness. */
export const systemRandom: Random = () => Math.random();
