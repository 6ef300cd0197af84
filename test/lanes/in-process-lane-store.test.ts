import { InProcessLaneStore } from "lanekeeper/lanes";
import { FakeClock } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { laneStoreConformance } from "./lane-store-conformance.ts";

const clock = new FakeClock();

laneStoreConformance("the in-process store", {
  open: () => new InProcessLaneStore({ clock }),
  openAgain: (store) => store,
  advance: (seconds) => clock.advance(seconds),
});

describe("Semantics 11.4: the in-process store leaves nothing behind", () => {
  it("no timer when nobody listens and no lane is used", async () => {
    const own = new FakeClock();
    const store = new InProcessLaneStore({ clock: own });
    const rate = { lane: "tool:search", bound: { starts: { count: 1, perSeconds: 10 } } };
    const stop = store.onFreed(() => {});
    store.tryAcquire([rate])?.release([rate.lane]);
    expect(store.tryAcquire([rate])).toBeUndefined();
    expect(own.pending.foreground).toBe(1);
    stop();
    own.assertIdle({ allowBackground: true });
    await own.advance(10);
    own.assertIdle();
  });
});
