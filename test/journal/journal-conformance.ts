import type { Claim, Journal, JournalEntry, PendingCall, RunBegun } from "lanekeeper";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

/** What a journal under test is made with. */
export interface JournalUnderTest {
  /** An empty journal for each test. */
  open(): Promise<Journal> | Journal;
  /** A second way to the same runs: another process's, or the same one again. */
  openAgain(journal: Journal): Promise<Journal> | Journal;
  close?(journals: Journal[]): Promise<void> | void;
  /**
   * Takes a run from whoever works on it, as another process does once that one counts as dead. Left out where whoever
   * works on a run cannot die before the journal does: those tests are skipped.
   */
  takeOver?(journal: Journal, runId: string): Promise<Claim>;
}

const begun: RunBegun = {
  kind: "run_begun",
  path: "0",
  agent: "planner",
  tenant: "acme",
  messages: [{ role: "user", content: "Four nights near Kyoto. 京都 \u0000 \\" }],
  state: { notes: ["a"], "": 0 },
};
const callBegun: JournalEntry = { kind: "call_begun", path: "0", turn: 1, position: 0, attempt: 1, idempotent: false };
const settled: JournalEntry = {
  kind: "call_settled",
  path: "0",
  turn: 1,
  position: 0,
  result: { status: "ok", content: "found", value: { "": [0, false, null, ""] }, mayHaveLanded: false },
  delta: [
    { key: "a", value: null },
    { key: "b", gone: true },
  ],
};
const waits = (runId: string, position: number, tenant = "acme"): PendingCall => ({
  id: `${runId}/0/1.${position}`,
  runId,
  path: "0",
  callId: `call_${position}`,
  tool: "pay",
  tenant,
  args: { sum: position },
  reason: "approval",
  position,
  of: 2,
});
const suspended = (runId: string, tenant = "acme") =>
  ({ status: "suspended", tenant, pending: [waits(runId, 0, tenant), waits(runId, 1, tenant)] }) as const;

/** What every journal must do (`Semantics 11.1`, `11.3`); each implementation runs it. */
export function journalConformance(name: string, underTest: JournalUnderTest): void {
  describe(`Semantics 3.6, 11.1, 11.3: ${name} keeps runs`, () => {
    let one: Journal;
    let other: Journal;
    beforeEach(async () => {
      one = await underTest.open();
      other = await underTest.openAgain(one);
    });
    afterEach(() => underTest.close?.([one, other]));

    const pending = async (journal: Journal, filter?: { tenant?: string }): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { id } of journal.pending(filter)) ids.push(id);
      return ids;
    };
    const isHeld = (held: boolean) => ({ code: "JOURNAL", held });
    const waiting = async (runId: string, tenant?: string): Promise<void> => {
      const claim = await one.claim(runId, "new");
      await one.append(claim, [begun]);
      await one.release(claim, suspended(runId, tenant));
    };

    it("gives back what was recorded, in order, whichever function recorded it", async () => {
      const claim = await one.claim("run", "new");
      await one.append(claim, [begun]);
      await one.begin(claim, [callBegun]);
      await one.settle(claim, [settled, { kind: "usage_spent", path: "0", usage: USAGE }]);
      await one.append(claim, []);
      expect(await other.load("run")).toEqual([
        begun,
        callBegun,
        settled,
        { kind: "usage_spent", path: "0", usage: USAGE },
      ]);
    });

    it("keeps copies, and gives copies out", async () => {
      const claim = await one.claim("run", "new");
      const line = structuredClone(settled);
      const how = structuredClone(suspended("run"));
      await one.settle(claim, [line]);
      Object.assign(line, { position: 7 });
      const loaded = (await one.load("run")) ?? [];
      Object.assign(loaded[0] as object, { position: 8 });
      expect(await one.load("run")).toEqual([settled]);
      await one.release(claim, how);
      Object.assign(how.pending[0] as object, { id: "another" });
      for await (const call of one.pending()) Object.assign(call, { id: "yet another" });
      expect(await pending(one)).toEqual(["run/0/1.0", "run/0/1.1"]);
    });

    it("knows nothing of a run that nobody has begun", async () => {
      expect(await one.load("run")).toBeUndefined();
      await expect(one.claim("run", "known")).rejects.toMatchObject(isHeld(false));
      expect(await pending(one)).toEqual([]);
      await one.claim("run", "new");
    });

    it("gives a run to one at a time", async () => {
      const claim = await one.claim("run", "new");
      await expect(other.claim("run", "new")).rejects.toMatchObject(isHeld(true));
      await expect(other.claim("run", "known")).rejects.toMatchObject(isHeld(true));
      await one.release(claim, suspended("run"));
      await expect(other.claim("run", "new")).rejects.toMatchObject(isHeld(false));
      const again = await Promise.allSettled([one.claim("run", "known"), other.claim("run", "known")]);
      expect(again.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    });

    it("a claim that was let go of records nothing more, and a later one is greater", async () => {
      const first = await one.claim("run", "new");
      await one.append(first, [begun]);
      await one.release(first, suspended("run"));
      const refused = async (): Promise<void> => {
        for (const step of ["begin", "settle", "append"] as const) {
          await expect(one[step](first, [callBegun])).rejects.toMatchObject(isHeld(true));
        }
        await expect(one.release(first, { status: "ended" })).rejects.toMatchObject(isHeld(true));
      };
      await refused();
      const second = await other.claim("run", "known");
      expect(second.runId).toBe("run");
      expect(second.epoch).toBeGreaterThan(first.epoch);
      await refused();
      expect(await one.load("run")).toEqual([begun]);
      await other.append(second, [settled]);
      expect(await one.load("run")).toEqual([begun, settled]);
    });

    it("tells what waits, in order, of runs that nobody works on, by tenant", async () => {
      await waiting("a");
      await waiting("b", "other");
      const all = ["a/0/1.0", "a/0/1.1", "b/0/1.0", "b/0/1.1"];
      expect((await pending(other)).sort()).toEqual(all);
      expect(await pending(other, { tenant: "acme" })).toEqual(all.slice(0, 2));
      expect(await pending(other, { tenant: "other" })).toEqual(all.slice(2));
      expect(await pending(other, { tenant: "nobody" })).toEqual([]);
      for await (const call of one.pending({ tenant: "acme" })) {
        expect(call).toEqual(waits("a", 0));
        break;
      }
      await other.claim("a", "known");
      expect(await pending(one)).toEqual(all.slice(2));
    });

    it("a run that is let go of unchanged waits as it did", async () => {
      await waiting("run");
      const claim = await other.claim("run", "known");
      await other.release(claim, { status: "unchanged" });
      expect(await pending(one)).toEqual(["run/0/1.0", "run/0/1.1"]);
      expect(await one.load("run")).toEqual([begun]);
      await one.claim("run", "known");
    });

    it("a run that waits again waits for what it waits for now", async () => {
      await waiting("run");
      const claim = await other.claim("run", "known");
      await other.release(claim, { status: "suspended", tenant: "acme", pending: [waits("run", 1)] });
      expect(await pending(one)).toEqual(["run/0/1.1"]);
    });

    it("a run that has ended waits for nobody and is resumed by nobody", async () => {
      await waiting("run");
      const claim = await other.claim("run", "known");
      await other.release(claim, { status: "ended" });
      expect(await pending(one)).toEqual([]);
      await expect(one.claim("run", "known")).rejects.toMatchObject(isHeld(false));
      await expect(one.append(claim, [settled])).rejects.toMatchObject(isHeld(true));
    });

    it("ids are data: any text is one, and no two are the same", async () => {
      const ids = ["__proto__", "constructor", "a/b", "a", "A", " ", "京都", "it's", "x".repeat(200)];
      for (const id of ids) {
        const claim = await one.claim(id, "new");
        await one.append(claim, [{ ...begun, agent: id }]);
      }
      for (const id of ids) expect(await other.load(id)).toMatchObject([{ agent: id }]);
    });

    it.skipIf(underTest.takeOver === undefined)(
      "whoever lost the run to another can record nothing more and let go of nothing",
      async () => {
        const zombie = await one.claim("run", "new");
        await one.append(zombie, [begun]);
        const claim = (await underTest.takeOver?.(other, "run")) as Claim;
        expect(claim.epoch).toBeGreaterThan(zombie.epoch);
        for (const step of ["begin", "settle", "append"] as const) {
          await expect(one[step](zombie, [callBegun])).rejects.toMatchObject(isHeld(true));
        }
        await expect(one.release(zombie, { status: "ended" })).rejects.toMatchObject(isHeld(true));
        await other.append(claim, [settled]);
        expect(await other.load("run")).toEqual([begun, settled]);
      },
    );
  });
}

const USAGE = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
