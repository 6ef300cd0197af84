import { describe, expect, it } from "vitest";
import { enumerateWorld } from "./lane-enumeration.ts";
import { emptyTally } from "./lane-world.ts";

describe("Semantics 4.4, 4.5, 4.6, 4.7, 4.10: every order of a few calls in small worlds keeps every promise", () => {
  it("holds for each order of asking for three calls, of releasing them and of cancelling one", {
    timeout: 60_000,
  }, () => {
    const tally = emptyTally();
    for (let seed = 1; seed <= 400; seed += 1) enumerateWorld(seed, 3, Number.POSITIVE_INFINITY, tally);
    // What passes because it did nothing has proved nothing.
    expect(tally.worlds).toBe(400);
    expect(tally.paths).toBeGreaterThan(3000);
    expect(tally.grants).toBeGreaterThan(8000);
  });

  it("holds for the first thousand orders of four and five calls", { timeout: 60_000 }, () => {
    const tally = emptyTally();
    for (let seed = 1; seed <= 250; seed += 1) enumerateWorld(seed, 4, 1000, tally);
    for (let seed = 1; seed <= 40; seed += 1) enumerateWorld(seed, 5, 1000, tally);
    expect(tally.paths).toBeGreaterThan(15_000);
    expect(tally.grants).toBeGreaterThan(60_000);
    expect(tally.deadlocks).toBeGreaterThan(50);
    expect(tally.kept).toBeGreaterThan(5);
  });
});
