/**
 * Every small batch of calls that run no agent, through every order and with every disturbance at every point: up to three
 * calls, and four with none or a cancel. All calls of such a batch stand in one
 * lane, whichever is bounded: so the turn's stands for the tenant's. The resource's is its own case, since its bodies are
 * never abandoned.
 *
 * `WORLDS=all npx vitest run test/simulation/batch` walks up to four calls with every bound, disturbance and way of
 * dispatching; that takes hours. `WORLDS=500 SEED=7` walks 500 of those worlds.
 */
import { describe, expect, it } from "vitest";
import { walkAsAsked, walkWorlds } from "./batch-enumeration.ts";
import { AFTER_GATES, batchesUpTo, EVERYTHING, LEAVES, type Variety, worldsOf } from "./batch-worlds.ts";

const DAY = 86_400_000;
describe("Semantics 2.3, 2.4, 4.5, 4.8, 4.10, 5.1, 5.2, 7.1, 7.2, 7.3, 7.4, 8: every order of every small batch of leaves keeps every promise", () => {
  const timeout = 120_000;

  it("holds for up to two calls with every disturbance at every point", { timeout }, async () => {
    const two: Variety = { ...AFTER_GATES, batches: batchesUpTo(2, LEAVES), bounds: ["loose", "turn", "resource"] };
    const tally = await walkWorlds(worldsOf(two));
    // What passes because it did nothing has proved nothing.
    expect(tally.worlds).toBe(624);
    expect(tally.paths).toBeGreaterThan(1_500);
    expect(tally.overdue).toBeGreaterThan(200);
  });

  it("holds for three calls with every disturbance at every point", { timeout }, async () => {
    const three: Variety = { ...AFTER_GATES, batches: batchesUpTo(3, LEAVES, 3), bounds: ["loose", "turn"] };
    const tally = await walkWorlds(worldsOf(three));
    expect(tally.worlds).toBe(832);
    expect(tally.paths).toBeGreaterThan(4_000);
    expect(tally.abandoned).toBeGreaterThan(700);
  });

  it("holds for four calls, undisturbed and cancelled at every point", { timeout }, async () => {
    const four: Variety = {
      ...AFTER_GATES,
      batches: batchesUpTo(4, LEAVES, 4),
      bounds: ["loose", "turn"],
      disturbances: ["none", "cancel"],
    };
    const tally = await walkWorlds(worldsOf(four));
    expect(tally.worlds).toBe(160);
    expect(tally.paths).toBeGreaterThan(1_500);
  });

  it.runIf(process.env.WORLDS)(
    "holds for up to four calls with everything that can be varied",
    { timeout: DAY },
    async () => {
      const tally = await walkAsAsked({ ...EVERYTHING, batches: batchesUpTo(4, LEAVES) });
      expect(tally.paths).toBeGreaterThan(0);
    },
  );
});
