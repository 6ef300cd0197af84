import {
  InProcessLaneStore,
  LaneDeadlockError,
  type LaneRequest,
  type LaneStore,
  Lanes,
  type Permit,
} from "lanekeeper/lanes";
import { FakeClock } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../src/testing/seeded-random.ts";

const config = { perTenant: 2, perTool: { a: 1, b: 2 }, perResource: { R: 2 } };
const bounds = new Map(Object.entries({ "tool a": 1, "tool b": 2, "resource R": 2, "tenant t0": 2, "tenant t1": 2 }));

/** The in-process store, some of whose answers take a while; who releases in between is in no hurry either. */
function slowly(store: InProcessLaneStore, random: () => number): LaneStore {
  return {
    tryAcquire: (lanes) => {
      const pause = Math.floor(random() * 4);
      if (pause === 0) return store.tryAcquire(lanes);
      return (async () => {
        for (let turn = 0; turn < pause; turn += 1) await Promise.resolve();
        const places = store.tryAcquire(lanes);
        for (let turn = 0; turn < pause; turn += 1) await Promise.resolve();
        return places;
      })();
    },
    onFreed: (listener) => store.onFreed(listener),
  };
}

interface Tally {
  granted: number;
  waited: number;
  cancelled: number;
}

/** One world: two `Lanes`, many calls, some nested, some cancelled. Fails when a bound is passed or somebody waits for ever. */
async function simulate(seed: number, tally: Tally): Promise<void> {
  const random = seededRandom(seed);
  const clock = new FakeClock();
  const shared = new InProcessLaneStore({ clock });
  const both = [0, 1].map(() => new Lanes(config, { clock, store: slowly(shared, random) }));
  const working = new Map<string, number>();
  const held = new Set<{ readonly permit: Permit; readonly end: () => void }>();
  let open = 0;

  const ask = (lanes: Lanes, request: LaneRequest, within?: Permit): void => {
    const stop = new AbortController();
    const names = Object.entries({ ...request, ...(within === undefined ? {} : { tenant: within.tenant }) });
    const lanesOf = names.map(([kind, name]) => `${kind} ${name}`).filter((name) => bounds.has(name));
    // What a caller lends is its caller's: only the others count.
    const counted = within === undefined ? lanesOf : lanesOf.filter((name) => !callersNames(within).includes(name));
    open += 1;
    const waits = lanes.acquire(request, { signal: stop.signal, ...(within === undefined ? {} : { within }) });
    let isDelivered = false;
    waits.then(
      (permit) => {
        isDelivered = true;
        tally.granted += 1;
        for (const name of counted) {
          working.set(name, (working.get(name) ?? 0) + 1);
          expect(working.get(name), `${name} in world ${seed}`).toBeLessThanOrEqual(bounds.get(name) as number);
        }
        const body = {
          permit,
          end: () => {
            held.delete(body);
            for (const name of counted) working.set(name, (working.get(name) as number) - 1);
            permit.end();
            open -= 1;
          },
        };
        held.add(body);
        // One nested call at a time: a second would need places of its own in lanes that are not counted here.
        if (within === undefined && random() < 0.3) ask(lanes, { tool: random() < 0.5 ? "b" : "c" }, permit);
      },
      (error: unknown) => {
        isDelivered = true;
        open -= 1;
        if (!(error instanceof LaneDeadlockError)) tally.cancelled += 1;
      },
    );
    queueMicrotask(() => {
      if (!isDelivered) tally.waited += 1;
      if (!isDelivered && random() < 0.2) stop.abort();
    });
  };

  for (let call = 0; call < 60; call += 1) {
    const lanes = both[Math.floor(random() * 2)] as Lanes;
    const tool = "abc"[Math.floor(random() * 3)] as string;
    ask(lanes, {
      ...(random() < 0.7 ? { tenant: `t${Math.floor(random() * 2)}` } : {}),
      tool,
      ...(tool === "c" ? { resource: "R" } : {}),
      ...(random() < 0.2 ? { arguments: `${Math.floor(random() * 2)}` } : {}),
    });
    if (random() < 0.5) await clock.settle();
    for (const body of [...held]) if (random() < 0.4) body.end();
  }
  for (let step = 0; open > 0; step += 1) {
    expect(step, `somebody waits for ever in world ${seed}`).toBeLessThan(500);
    await clock.settle();
    for (const body of [...held]) body.end();
  }
  await clock.settle();
  for (const lanes of both) {
    expect(lanes.snapshot().every(({ inFlight, waiting }) => inFlight + waiting === 0)).toBe(true);
  }
  // Nothing is left in the store either: everything can be taken at once.
  const free = [...bounds].flatMap(([name, bound]) => Array.from({ length: bound }, () => name.replace(" ", ":")));
  for (const lane of free) {
    expect(shared.tryAcquire([{ lane, bound: bounds.get(lane.replace(":", " ")) as number }]), lane).toBeDefined();
  }
}

function callersNames(permit: Permit): string[] {
  return [`tenant ${permit.tenant}`, `tool ${permit.tool}`, `resource ${permit.resource}`];
}

describe("Semantics 11.4: two Lanes that share a store, some of whose answers take time, keep every bound and lose nobody", () => {
  it("holds in each world", { timeout: 60_000 }, async () => {
    const tally: Tally = { granted: 0, waited: 0, cancelled: 0 };
    for (let seed = 1; seed <= 25; seed += 1) await simulate(seed, tally);
    // What passes because it did nothing has proved nothing.
    expect(tally.granted).toBeGreaterThan(800);
    expect(tally.waited).toBeGreaterThan(300);
    expect(tally.cancelled).toBeGreaterThan(50);
  });
});
