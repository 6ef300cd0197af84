/** Runs one area's property: a bounded number of cases as a test, as many as are asked for with `npm run fuzz`. */
import { appendFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";

/** Cases of all areas together when nothing is asked for; each area has its share. */
const CASES = Number(process.env.FUZZ_CASES ?? 2_000);

/** Cases from which on a share of them means something. */
const FEWEST = 100;

/** What a case tells of itself. */
export interface Count {
  /** A body was entered, or an option got past its door. */
  reached(): void;
}

export interface Area {
  /** One word, for the report. */
  name: string;
  /** Of all cases. */
  share: number;
  /** Fixed, so that a test that was green stays green; `FUZZ_SEED` is put in its place. */
  seed: number;
  /** How many cases in a hundred must reach what they are for. */
  atLeast: number;
}

/** A test that plays `play` with each case. Failures show the smallest case, its seed and its path. */
export function fuzzed<T>(
  title: string,
  { name, share, seed, atLeast }: Area,
  cases: fc.Arbitrary<T>,
  play: (one: T, count: Count) => Promise<void>,
): void {
  it(title, { timeout: 24 * 3_600_000 }, async () => {
    let played = 0;
    let reached = 0;
    const property = fc.asyncProperty(cases, async (one) => {
      played += 1;
      let isReached = false;
      const before = prototypes();
      try {
        await play(one, {
          reached: () => {
            isReached = true;
          },
        });
      } finally {
        if (isReached) reached += 1;
      }
      expect(prototypes(), "what every object inherits").toEqual(before);
    });
    const asked = process.env.FUZZ_SEED;
    try {
      await fc.assert(property, {
        seed: asked === undefined ? seed : Number(asked),
        numRuns: Math.max(1, Math.round(CASES * share)),
        ...(process.env.FUZZ_PATH === undefined ? {} : { path: process.env.FUZZ_PATH }),
      });
    } finally {
      const report = process.env.FUZZ_REPORT;
      if (report !== undefined) appendFileSync(report, `${JSON.stringify({ name, played, reached })}\n`);
    }
    // Of a handful nothing can be said.
    if (played < FEWEST) return;
    expect((100 * reached) / played, `${name}: cases in a hundred that go all the way`).toBeGreaterThanOrEqual(atLeast);
  });
}

const SHARED = [Object, Array, Function, Promise, Error, Map, Set, String, Number, RegExp].map(
  (made) => made.prototype,
);

function prototypes(): string[] {
  return SHARED.map((prototype) => Reflect.ownKeys(prototype).map(String).join());
}
