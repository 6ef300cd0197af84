/**
 * Every small batch with a call that runs an agent, through every order and with every disturbance at every point: two
 * calls of a few kinds.
 *
 * `WORLDS=all npx vitest run test/simulation/batch` walks two calls of any kind and three of a few, with every bound,
 * disturbance and way of dispatching; that takes hours. `WORLDS=500 SEED=7` walks 500 of those worlds.
 */
import { describe, expect, it } from "vitest";
import { walkAsAsked, walkWorlds } from "./batch-enumeration.ts";
import {
  AFTER_GATES,
  batchesUpTo,
  CALLERS,
  EVERYTHING,
  FEW,
  LEAVES,
  type Variety,
  withRunsBelow,
  worldsOf,
} from "./batch-worlds.ts";

const DAY = 86_400_000;
describe("Semantics 2.3, 2.4, 3.8, 4.3, 4.4, 4.5, 4.6, 4.8, 4.10, 5.1, 5.2, 7.1, 7.2, 7.3, 7.4, 8: every order of two calls with nested runs below them keeps every promise", () => {
  const timeout = 120_000;

  it("holds for two calls, undisturbed and cancelled at every point", { timeout }, async () => {
    const two: Variety = {
      ...AFTER_GATES,
      batches: withRunsBelow(batchesUpTo(2, FEW, 2)),
      disturbances: ["none", "cancel"],
    };
    const tally = await walkWorlds(worldsOf(two));
    // What passes because it did nothing has proved nothing.
    expect(tally.worlds).toBe(640);
    expect(tally.paths).toBeGreaterThan(2_500);
    expect(tally.verdicts.never_dispatched).toBeGreaterThan(1_000);
  });

  it("holds for two calls, one of which passes its ceiling or fails at any point", { timeout }, async () => {
    const batches = withRunsBelow(batchesUpTo(2, FEW, 2));
    const cutOff: Variety = {
      ...AFTER_GATES,
      batches,
      bounds: ["loose"],
      ears: ["none"],
      disturbances: ["ceiling"],
      policies: ["surface_to_model"],
    };
    const failed: Variety = { ...AFTER_GATES, batches, bounds: ["loose", "resource"], disturbances: ["throw"] };
    const tally = await walkWorlds([...worldsOf(cutOff), ...worldsOf(failed)]);
    expect(tally.worlds).toBe(1128);
    expect(tally.paths).toBeGreaterThan(3_000);
    expect(tally.abandoned).toBeGreaterThan(1_000);
  });

  it.runIf(process.env.WORLDS)("holds for two calls with everything that can be varied", { timeout: DAY }, async () => {
    const batches = withRunsBelow(batchesUpTo(2, [...LEAVES, ...CALLERS]));
    const tally = await walkAsAsked({ ...EVERYTHING, batches });
    expect(tally.paths).toBeGreaterThan(0);
  });

  it.runIf(process.env.WORLDS)("holds for three calls of a few kinds, likewise", { timeout: DAY }, async () => {
    const batches = withRunsBelow(batchesUpTo(3, FEW, 3));
    const tally = await walkAsAsked({ ...EVERYTHING, batches, dispatch: ["after_gates", "eager"] });
    expect(tally.paths).toBeGreaterThan(0);
  });
});
