import { rmSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { makeBreak, type NewBreak } from "../../scripts/guards/make-break.ts";
import { madeUpTree, SUMS } from "./made-up-tree.ts";

const root = madeUpTree(SUMS);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const wanted: NewBreak = {
  rule: "2.1",
  test: "test/sum.test.ts",
  file: "src/sum.ts",
  find: "a + b",
  replace: "a - b",
  slug: "minus",
};

describe("Making a break: a patch from one replacement in the source", () => {
  it("writes both headers and a diff of whole lines with three lines of context", () => {
    expect(makeBreak(root, wanted)).toMatchObject({
      file: "breaks/2.1-minus.patch",
      text: [
        "Rule: 2.1",
        "Test: test/sum.test.ts",
        "--- a/src/sum.ts",
        "+++ b/src/sum.ts",
        "@@ -1,6 +1,6 @@",
        " // Adds, and nothing else.",
        " export function sum(a: number, b: number): number {",
        "-  return a + b;",
        "+  return a - b;",
        " }",
        " ",
        " export const later = (): Promise<void> => Promise.resolve();",
        "",
      ].join("\n"),
    });
  });

  it("takes the line away when nothing is left on it", () => {
    const { text } = makeBreak(root, { ...wanted, find: "return a + b;", replace: "" });
    expect(text).toContain("@@ -1,6 +1,5 @@");
    expect(text).not.toMatch(/^\+ /m);
  });

  it("refuses text that is not there, or there more than once, or no change, or a bad name", () => {
    expect(() => makeBreak(root, { ...wanted, find: "a * b" })).toThrow(/expected text of src\/sum.ts/);
    expect(() => makeBreak(root, { ...wanted, find: "number" })).toThrow(/stands there several times/);
    expect(() => makeBreak(root, { ...wanted, replace: "a + b" })).toThrow(/expected another text/);
    expect(() => makeBreak(root, { ...wanted, slug: "../up" })).toThrow(/--slug/);
    expect(() => makeBreak(root, { ...wanted, file: "test/sum.test.ts", find: "toBe(3)" })).toThrow(/under src\/ only/);
  });
});
