import { InProcessLaneStore, type LaneStore, type StoredPlaces } from "lanekeeper/lanes";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines } from "./batch-world.ts";

/** A store that says, when it is told to, that it can no longer vouch for any place it gave. */
class ForgetfulStore extends InProcessLaneStore {
  readonly #session = new AbortController();

  override tryAcquire(...[lanes]: Parameters<LaneStore["tryAcquire"]>): StoredPlaces | undefined {
    const places = super.tryAcquire(lanes);
    if (places === undefined) return undefined;
    return { lost: this.#session.signal, release: (given) => places.release(given) };
  }

  forget(): void {
    this.#session.abort(new Error("the session ended"));
  }
}

describe("Semantics 11.4: a call whose places are lost is told so, and is stopped", () => {
  it("fails what is in flight, says what may have landed, and leaves what needs no place alone", async () => {
    const store = new ForgetfulStore();
    const world = new BatchWorld({ perTool: { send: 2, read: 2 } }, { store });
    const tools = [world.listening("send"), world.listening("read", { idempotent: true }), world.deaf("free")];
    const batch = await world.start("a:send b:read c:free", { tools });
    store.forget();
    await world.clock.settle();
    expect(world.contexts.get("a")?.signal.reason).toMatchObject({ code: "LANE_STORE_UNAVAILABLE" });
    await world.open("c");
    const problem = "expected the store to keep the call's places, got word that it lost them";
    expect(lines(await world.finished(batch))).toEqual([
      `a error: ${problem}. The side effect may have landed. (may have landed)`,
      `b error: ${problem}`,
      "c ok: c",
    ]);
  });
});
