/** Knocks at doors with options that are nearly right. */

import { FakeClock, leakCheck } from "lanekeeper/testing";
import { expect } from "vitest";
import { type Area, type Count, fuzzed } from "./fuzzed.ts";
import { type Mutant, mutant } from "./mutants.ts";
import { isMistake, settled, shape } from "./promises.ts";

/** A place where options come in. */
export interface Door {
  /** Arguments that work, made anew. */
  right(world: World): unknown[];
  /** Goes through the door with them, and uses what is behind it. */
  go(args: never, world: World): unknown;
  /** Names whose values are left as they are. */
  sealed?: readonly string[];
  /** Whether each option is looked at once only: then it may be another at a second look. */
  looksOnce?: boolean;
  /** Recipes that are left out here. */
  without?: RegExp;
  /** What a door may answer beside a mistake; by default only those are expected. */
  isRefusal?(error: unknown): void;
}

/** What a case is played in. */
export class World {
  readonly clock: FakeClock = new FakeClock();
  readonly stop: AbortController = new AbortController();

  /** Waits for what is behind a door; it may need time, or to be stopped. */
  settled<T>(promise: Promise<T>): Promise<T> {
    return settled(this.clock, promise, this.stop);
  }
}

/** Tests that knock at each of the doors, and demand: in, or a mistake of the options that is told as one. */
export function fuzzedDoors(area: Area, doors: Record<string, Door>): void {
  const share = area.share / Object.keys(doors).length;
  for (const [name, door] of Object.entries(doors)) {
    const cases = mutant(door.right(new World()), door);
    fuzzed(name, { ...area, share }, cases, (args, count) => knock(door, args, count));
  }
}

async function knock(door: Door, args: Mutant, count: Count): Promise<void> {
  const world = new World();
  const leaks = leakCheck({ lanes: () => [] }, { signal: world.stop.signal });
  const given = args.spoil(door.right(world));
  const before = shape(given);
  const refused = door.isRefusal ?? isMistake;
  try {
    await door.go(given as never, world);
    count.reached();
  } catch (error) {
    if (error instanceof Error && error.name === "AssertionError") throw error;
    refused(error);
  } finally {
    await world.clock.settle();
    await leaks.done();
  }
  expect(shape(given), "what was given").toEqual(before);
}
