import type { LaneStore, StoredPlaces } from "lanekeeper/lanes";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

/** What a store under test is made with. */
export interface StoreUnderTest {
  /** A store of its own for each test, that others of the same test share its lanes with. */
  open(): Promise<LaneStore> | LaneStore;
  /** A second way into the same lanes: another process's, or the same one again. */
  openAgain(store: LaneStore): Promise<LaneStore> | LaneStore;
  close?(stores: LaneStore[]): Promise<void> | void;
  /** Lets `seconds` pass, for bounds on starts. Left out: those tests are skipped. */
  advance?(seconds: number): Promise<void>;
}

const tool = (bound: number): { lane: string; bound: number } => ({ lane: "tool:search", bound });
const tenant = (bound: number): { lane: string; bound: number } => ({ lane: "tenant:acme", bound });

/** What every store of shared lanes must do (`Semantics 11.4`); each implementation runs it. */
export function laneStoreConformance(name: string, underTest: StoreUnderTest): void {
  describe(`Semantics 11.4: ${name} shares lanes`, () => {
    let one: LaneStore;
    let other: LaneStore;
    beforeEach(async () => {
      one = await underTest.open();
      other = await underTest.openAgain(one);
    });
    afterEach(() => underTest.close?.([one, other]));

    const taken = async (store: LaneStore, lanes: Parameters<LaneStore["tryAcquire"]>[0]): Promise<StoredPlaces> => {
      const places = await store.tryAcquire(lanes);
      if (places === undefined) throw new Error("expected places, was refused");
      return places;
    };

    it("gives out as many places of a lane as its bound says, to all together", async () => {
      await taken(one, [tool(2)]);
      await taken(other, [tool(2)]);
      expect(await one.tryAcquire([tool(2)])).toBeUndefined();
      expect(await other.tryAcquire([tool(2)])).toBeUndefined();
    });

    it("a lane of another name is another lane", async () => {
      await taken(one, [tool(1)]);
      await taken(one, [{ lane: "tool:other", bound: 1 }]);
      await taken(one, [{ lane: "resource:search", bound: 1 }]);
    });

    it("takes a place in every lane or in none", async () => {
      await taken(other, [tool(1)]);
      expect(await one.tryAcquire([tenant(1), tool(1)])).toBeUndefined();
      await taken(one, [tenant(1)]);
    });

    it("a place that is given back is free for everybody, and giving back twice frees one", async () => {
      const first = await taken(one, [tool(1)]);
      await first.release(["tool:search"]);
      await first.release(["tool:search"]);
      await taken(other, [tool(1)]);
      expect(await one.tryAcquire([tool(1)])).toBeUndefined();
    });

    it("places are given back lane by lane", async () => {
      const both = await taken(one, [tenant(1), tool(1)]);
      await both.release(["tool:search"]);
      await taken(other, [tool(1)]);
      expect(await other.tryAcquire([tenant(1)])).toBeUndefined();
      await both.release(["tenant:acme"]);
      await taken(other, [tenant(1)]);
    });

    it("tells every listener of a lane in which a place came free, until it stops listening", async () => {
      const heard: string[] = [];
      const heardOnce = new Promise<void>((resolve) => {
        const stop = other.onFreed((lane) => {
          heard.push(lane);
          stop();
          resolve();
        });
      });
      const places = await taken(one, [tenant(1), tool(1)]);
      await places.release(["tool:search"]);
      await heardOnce;
      await places.release(["tenant:acme"]);
      expect(heard).toEqual(["tool:search"]);
    });

    it("while different bounds are declared the larger counts", async () => {
      await taken(one, [tool(3)]);
      await taken(other, [tool(1)]);
      await taken(other, [tool(1)]);
      expect(await other.tryAcquire([tool(1)])).toBeUndefined();
      expect(await one.tryAcquire([tool(3)])).toBeUndefined();
    });

    it.skipIf(underTest.advance === undefined)(
      "counts starts, whatever ended meanwhile, and tells when time opens the lane",
      async () => {
        const rate = { lane: "tool:search", bound: { inFlight: 5, starts: { count: 1, perSeconds: 10 } } };
        const heard: string[] = [];
        const stop = other.onFreed((lane) => heard.push(lane));
        await (await taken(one, [rate])).release(["tool:search"]);
        heard.length = 0;
        expect(await other.tryAcquire([rate])).toBeUndefined();
        await underTest.advance?.(9.9);
        expect(heard).toEqual([]);
        await underTest.advance?.(0.1);
        expect(heard).toContain("tool:search");
        await taken(other, [rate]);
        stop();
      },
    );

    it("its places can be vouched for, or carry the signal that says when they cannot", async () => {
      const { lost } = await taken(one, [tool(1)]);
      expect(lost === undefined || !lost.aborted).toBe(true);
    });
  });
}
