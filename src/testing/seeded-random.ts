import { refuse } from "../base/option-checks.ts";
import type { Random } from "../base/random.ts";

/**
 * Randomness that is the same for the same seed, on every machine. Good enough for tests, not for secrets.
 *
 * @throws CONFIGURATION when the seed is not a whole number.
 */
export function seededRandom(seed: number): Random {
  if (!Number.isSafeInteger(seed)) refuse("seededRandom seed", "a whole number", seed);
  // Both halves of the seed count, and neighbouring seeds start far apart.
  let state = (Math.imul(seed | 0, 0x9e3779b1) ^ Math.imul(Math.floor(seed / 2 ** 32) | 0, 0x85ebca6b)) | 0;
  return () => {
    // A Weyl sequence through a finaliser that mixes every bit into every other.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}
