import { seededRandom } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

const take = (seed: number, count: number): number[] => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, random);
};

describe("seededRandom: the same seed gives the same numbers", () => {
  it("repeats itself for a seed, and differs for another", () => {
    expect(take(42, 100)).toEqual(take(42, 100));
    for (const other of [0, 1, 41, 43, -42, 42 + 2 ** 32]) expect(take(other, 5)).not.toEqual(take(42, 5));
  });

  it("keeps its numbers from version to version, since seeds of failures are kept", () => {
    expect(take(1, 3).map((number) => Math.floor(number * 2 ** 32))).toMatchInlineSnapshot(`
      [
        4236641739,
        2478551562,
        1222988697,
      ]
    `);
  });

  it("stays in [0, 1) and spreads evenly", () => {
    const tenths = new Array<number>(10).fill(0);
    const numbers = take(9, 20_000);
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
    for (const number of numbers) {
      tenths[Math.floor(number * 10)] = (tenths[Math.floor(number * 10)] ?? 0) + 1;
    }
    for (const count of tenths) expect(Math.abs(count - 2000)).toBeLessThan(200);
  });

  it("gives neighbouring seeds first numbers that have nothing to do with each other", () => {
    const firsts = Array.from({ length: 1000 }, (_, seed) => take(seed, 1)[0] ?? 0);
    expect(new Set(firsts).size).toBe(1000);
    const mean = firsts.reduce((sum, number) => sum + number, 0) / firsts.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.05);
  });

  it.each([1.5, Number.NaN, "1" as never])("refuses the seed %s", (seed) => {
    expect(() => seededRandom(seed)).toThrow(/seededRandom seed: expected a whole number/);
  });
});
