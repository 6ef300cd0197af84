import { describe, expect, it } from "vitest";
import { walkWorlds } from "./batch-enumeration.ts";
import { AFTER_GATES, LONE, worldsOf } from "./batch-worlds.ts";

describe("Semantics 2.4, 3.8, 4.6, 4.8, 4.10, 5.1, 5.2, 7.1, 7.2, 7.3, 7.4, 8: every order below one call that runs an agent keeps every promise", () => {
  it("holds for one call that runs an agent, with every disturbance at every point", { timeout: 120_000 }, async () => {
    const tally = await walkWorlds(worldsOf({ ...AFTER_GATES, batches: LONE, bounds: ["loose", "tenant"] }));
    // What passes because it did nothing has proved nothing.
    expect(tally.worlds).toBe(882);
    expect(tally.paths).toBeGreaterThan(2_500);
    expect(tally.overdue).toBeGreaterThan(300);
  });
});
