import { describe, expect, it } from "vitest";
import { walkWorlds } from "./batch-enumeration.ts";
import { AFTER_GATES, batchesUpTo, FEW, LEAVES, type Variety, withRunsBelow, worldsOf } from "./batch-worlds.ts";

describe("Semantics 2.3, 2.4, 3.10, 4.8, 4.10, 5.1, 7.1, 7.2, 7.3, 8: what goes out while a response still streams keeps every promise, in every order", () => {
  const timeout = 120_000;

  it("holds for up to two leaves with every disturbance at every point", { timeout }, async () => {
    const held: Variety = {
      ...AFTER_GATES,
      batches: batchesUpTo(2, LEAVES),
      dispatch: ["held"],
      bounds: ["loose"],
      ears: ["none"],
    };
    const tally = await walkWorlds(worldsOf(held));
    // What passes because it did nothing has proved nothing.
    expect(tally.worlds).toBe(174);
    expect(tally.paths).toBeGreaterThan(2_000);
  });

  it("holds for two calls with nested runs below them, undisturbed", { timeout }, async () => {
    const batches = withRunsBelow(batchesUpTo(2, FEW, 2));
    const held: Variety = {
      ...AFTER_GATES,
      batches,
      dispatch: ["held"],
      bounds: ["loose", "resource"],
      disturbances: ["none"],
    };
    const tally = await walkWorlds(worldsOf(held));
    expect(tally.worlds).toBe(192);
    expect(tally.paths).toBeGreaterThan(300);
  });
});
