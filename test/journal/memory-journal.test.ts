import { MemoryJournal } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { journalConformance } from "./journal-conformance.ts";

journalConformance("the journal in memory", {
  open: () => new MemoryJournal(),
  openAgain: (journal) => journal,
});

describe("Semantics 3.6, 11.3: the journal in memory forgets", () => {
  it("runs that have ended, and nothing else", async () => {
    const journal = new MemoryJournal();
    const claim = await journal.claim("run", "new");
    expect(journal.has("run")).toBe(true);
    await journal.release(claim, { status: "suspended", tenant: "acme", pending: [] });
    expect(journal.has("run")).toBe(true);
    await journal.release(await journal.claim("run", "known"), { status: "ended" });
    expect(journal.has("run")).toBe(false);
    await journal.claim("run", "new");
  });

  it("who worked on a run that has ended records nothing in a later one of its id", async () => {
    const journal = new MemoryJournal();
    const before = await journal.claim("run", "new");
    await journal.release(before, { status: "ended" });
    await journal.claim("run", "new");
    await expect(journal.append(before, [])).rejects.toMatchObject({ code: "JOURNAL", held: true });
    expect(await journal.load("run")).toEqual([]);
  });
});
