import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assignCallIds } from "../../src/batch/call-ids.ts";

const ids = (...given: unknown[]): { id: unknown }[] => given.map((id) => ({ id }));

describe("Semantics 2.5: every call has an id of its own, and the first use of one is never changed", () => {
  it("keeps ids that are new", () => {
    expect(assignCallIds(ids("a", "b"), 1, new Set())).toEqual(["a", "b"]);
  });

  it("suffixes an id that an earlier turn used, and remembers what it gave", () => {
    const seen = new Set(["list:0"]);
    expect(assignCallIds(ids("list:0"), 2, seen)).toEqual(["list:0_2"]);
    expect(assignCallIds(ids("list:0"), 3, seen)).toEqual(["list:0_3"]);
  });

  it("suffixes the second use in one batch and assigns the missing ones", () => {
    expect(assignCallIds(ids("k:0", "k:0", "", undefined, "  ", 7), 1, new Set())).toEqual([
      "k:0",
      "k:0_2",
      "call_1_2",
      "call_1_3",
      "call_1_4",
      "call_1_5",
    ]);
  });

  it("gives no suffix that a later call of the batch has as its own id", () => {
    expect(assignCallIds(ids("k", "k", "k_2"), 1, new Set())).toEqual(["k", "k_3", "k_2"]);
  });

  it("holds for any ids: all distinct, first uses unchanged, the same inputs the same ids", () => {
    const id = fc.oneof(
      fc.constantFrom("a", "a_2", "a_3", "call_1_0", ""),
      fc.string({ maxLength: 3 }),
      fc.constant(undefined),
    );
    fc.assert(
      fc.property(
        fc.array(id, { maxLength: 20 }),
        fc.array(fc.string({ minLength: 1, maxLength: 3 })),
        (batch, earlier) => {
          const given = assignCallIds(ids(...batch), 1, new Set(earlier));
          expect(new Set(given).size).toBe(batch.length);
          batch.forEach((own, position) => {
            const first = batch.indexOf(own) === position && typeof own === "string" && own.trim() !== "";
            if (first && !earlier.includes(own)) expect(given[position]).toBe(own);
            expect(earlier).not.toContain(given[position]);
          });
          expect(assignCallIds(ids(...batch), 1, new Set(earlier))).toEqual(given);
        },
      ),
    );
  });
});
