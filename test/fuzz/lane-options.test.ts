import { ConcurrencyConfig, DeadlineConfig } from "lanekeeper";
import { InProcessLaneStore, Lanes, type Permit } from "lanekeeper/lanes";
import { describe, expect } from "vitest";
import { type Door, fuzzedDoors, type World } from "./doors.ts";
import { isMistakeOrTheirs, isTold } from "./promises.ts";

const bounds = () => ({
  maxConcurrentTools: 4,
  perTool: { search: 2, booking: { starts: [{ count: 5, perSeconds: 1 }] } },
  perTenant: { inFlight: 3, starts: { count: 5, perSeconds: 1 } },
  perResource: { maps: 2 },
  perToolSeconds: { search: 5 },
  maxWaitSeconds: 10,
  maxWaiting: 100,
  abandonSeconds: 1,
});

const lanesOf = ({ clock }: World): Lanes => new Lanes({ perTool: { search: 2 } }, { clock });
const request = () => ({ tenant: "acme", tool: "search", resource: "maps", arguments: "{}", exclusive: "run" });

/** What was admitted goes back, and leaves nothing. */
function isEmpty(lanes: Lanes): void {
  const gauges = lanes.snapshot().map(({ inFlight, waiting }) => [inFlight, waiting]);
  expect(gauges.flat().every((count) => count === 0)).toBe(true);
}

async function uses(lanes: Lanes, world: World): Promise<void> {
  for (let times = 0; times < 2; times++) {
    expect(await world.settled(lanes.use(request(), () => "used", { signal: world.stop.signal }))).toBe("used");
  }
  isEmpty(lanes);
}

/** Mocks that answer every name and list none: they have no `turn` to check, and give one. */
const MOCKS = /get: \(\)|answers everything/;

const doors: Record<string, Door> = {
  ConcurrencyConfig: {
    looksOnce: true,
    right: () => [bounds()],
    go: async ([options]: [never], world) => {
      await uses(new Lanes(new ConcurrencyConfig(options), { clock: world.clock }), world);
    },
  },
  narrowedTo: {
    looksOnce: true,
    right: () => [bounds()],
    go: ([options]: [never]) => new ConcurrencyConfig(bounds()).narrowedTo(options),
  },
  DeadlineConfig: {
    isRefusal: isMistakeOrTheirs,
    right: () => [{ runSeconds: 1, modelCallSeconds: 0.5, toolCallSeconds: Number.POSITIVE_INFINITY }],
    go: ([options]: [never]) => new DeadlineConfig(options),
  },
  Lanes: {
    sealed: ["clock"],
    right: ({ clock }) => [bounds(), { clock, store: new InProcessLaneStore({ clock }), onError: () => {} }],
    go: (args: [never, never], world) => uses(new Lanes(...args), world),
  },
  "a clock, a store": {
    right: ({ clock }) => [{ clock }],
    go: ([options]: [never]) => {
      new InProcessLaneStore(options);
      new Lanes({}, options);
    },
  },
  turn: {
    right: () => [bounds(), { name: "mine" }],
    go: async (args: [never, never], world) => {
      const lanes = lanesOf(world);
      const turn = lanes.turn(...args);
      const using = lanes.use({ ...request(), turn }, () => "used", { signal: world.stop.signal });
      expect(await world.settled(using)).toBe("used");
      isEmpty(lanes);
    },
  },
  acquire: {
    without: MOCKS,
    isRefusal: isTold,
    right: ({ stop }) => [request(), { signal: stop.signal, holder: { runId: "r", path: "0" } }],
    go: async (args: [never, never], world) => {
      const lanes = lanesOf(world);
      const acquiring = lanes.acquire(...args);
      expect(acquiring).toBeInstanceOf(Promise);
      const permit = await world.settled(acquiring);
      lanes.snapshot();
      permit.release();
      isEmpty(lanes);
    },
  },
  tryAcquire: {
    without: MOCKS,
    isRefusal: isTold,
    right: () => [request(), { holder: { runId: "r", path: "0" } }],
    go: (args: [never, never], world) => {
      const lanes = lanesOf(world);
      const permit = lanes.tryAcquire(...args);
      lanes.snapshot();
      permit?.release();
      isEmpty(lanes);
    },
  },
  use: {
    without: MOCKS,
    isRefusal: isTold,
    sealed: ["1"],
    right: ({ stop }) => [request(), (permit: Permit) => permit.release(), { signal: stop.signal, holder: {} }],
    go: async (args: [never, never, never], world) => {
      const lanes = lanesOf(world);
      const using = lanes.use(...args);
      expect(using).toBeInstanceOf(Promise);
      await world.settled(using);
      isEmpty(lanes);
    },
  },
  configure: {
    right: () => [bounds()],
    go: async ([changes]: [never], world) => {
      const lanes = lanesOf(world);
      const before = lanes.config;
      try {
        lanes.configure(changes);
      } catch (error) {
        expect(lanes.config, "nothing has changed").toBe(before);
        throw error;
      }
      await uses(lanes, world);
    },
  },
};

describe("Semantics 4.1, 4.2, 7.4: a mistake in bounds, durations and requests is told as one, and takes no place", () => {
  fuzzedDoors({ name: "lane options", share: 0.1, seed: 20_250_105, atLeast: 3 }, doors);
});
