import { describe, expect, it } from "vitest";
import { type SimulationKind, simulateWorld } from "./lane-simulation.ts";
import { emptyTally, type Tally } from "./lane-world.ts";

function simulate(kind: SimulationKind, worlds: number): Tally {
  const tally = emptyTally();
  for (let seed = 1; seed <= worlds; seed += 1) simulateWorld(seed, 60, kind, tally);
  return tally;
}

describe("Semantics 4.4, 4.5, 4.6, 4.7, 4.8, 4.9, 4.10: large worlds of many tenants, tools and nested calls keep every promise", () => {
  const kinds: [string, SimulationKind][] = [
    ["bounds alone", {}],
    ["bounds on starts per time", { rates: true }],
    ["bounds that change while calls run", { changes: true }],
    ["bodies that end late or are abandoned", { deaf: true }],
    ["all of these together", { rates: true, changes: true, deaf: true }],
  ];
  it.each(kinds)("holds for %s", { timeout: 60_000 }, (_, kind) => {
    const tally = simulate(kind, 60);
    // What passes because it did nothing has proved nothing.
    expect(tally.worlds).toBe(60);
    expect(tally.grants).toBeGreaterThan(5000);
    expect(tally.deadlocks).toBeGreaterThan(30);
    expect(tally.kept).toBeGreaterThan(20);
  });

  it("holds for each world that failed once", () => {
    const tally = emptyTally();
    const seeds = [470, 1305, 1845, 3645];
    for (const seed of seeds) simulateWorld(seed, 60, {}, tally);
    expect(tally.worlds).toBe(seeds.length);
  });
});
