import { describe, expect, it } from "vitest";
import { audit } from "../../scripts/guards/audit.ts";
import { readBreak } from "../../scripts/guards/break-file.ts";
import { choose } from "../../scripts/guards/choose.ts";
import { readClaims } from "../../scripts/guards/claims.ts";
import type { ProjectTree } from "../../scripts/guards/project-tree.ts";
import { readRules } from "../../scripts/guards/rule-list.ts";

const DIFF = "--- a/src/sum.ts\n+++ b/src/sum.ts\n@@ -1,1 +1,1 @@\n-a\n+b\n";

function treeOf(parts: Partial<ProjectTree>): ProjectTree {
  const rules = readRules("| rule | in short |\n|---|---|\n| 2.1 | Sums add up |\n| 9.1 | Not yet |\n");
  return { root: "/nowhere", rules, tests: [], breaks: [], problems: [], ...parts };
}

function breakOf(rule: string, test: string): ProjectTree["breaks"][number] {
  const read = readBreak(`breaks/${rule}-x.patch`, `Rule: ${rule}\nTest: ${test}\n${DIFF}`);
  if (typeof read === "string") throw new Error(read);
  return read;
}

describe("Rules: each has a test that claims it and a break that the test caught", () => {
  it("reads numbers and titles from the rows of the page's tables", () => {
    expect(readRules("# T\n\n| rule | in short |\n|---|---|\n| 4.10 | A |\n| 6 | B `c` |\n")).toEqual([
      { number: "4.10", title: "A" },
      { number: "6", title: "B `c`" },
    ]);
  });

  it("reads claims from top-level titles only, however the call is written", () => {
    const source = [
      'describe("Semantics 4.6, 4.7: a", () => {',
      '  describe("Semantics 5.1: nested", () => {});',
      "});",
      "describe.each([1])(",
      '  "Semantics 6: b", () => {});',
      "describe(",
      "  `Semantics 4.6: c`,",
      ");",
      'describe("FakeClock: d", () => {});',
    ].join("\n");
    expect(readClaims("test/a.test.ts", source)).toEqual({
      file: "test/a.test.ts",
      rules: ["4.6", "4.7", "6"],
      problems: [],
    });
  });

  it("reports a title that begins like a claim and is none", () => {
    expect(readClaims("test/a.test.ts", 'describe("Semantics 4.6 and 4.7: a", () => {});').problems).toHaveLength(1);
    expect(readClaims("test/a.test.ts", 'describe("Semantics: a", () => {});').problems).toHaveLength(1);
  });

  it("says what a patch lacks", () => {
    expect(readBreak("breaks/2.1-x.patch", "Rule: 2.1\nTest: test/a.test.ts\n")).toMatch(/expected a unified diff/);
    expect(readBreak("breaks/2.1-x.patch", `Test: test/a.test.ts\n${DIFF}`)).toMatch(/"Rule: <number>"/);
    expect(readBreak("breaks/2.1-x.patch", `Rule: 2.1\n${DIFF}`)).toMatch(/"Test: <test file>"/);
    expect(readBreak("breaks/2.2-x.patch", `Rule: 2.1\nTest: t\n${DIFF}`)).toMatch(/begins with "2.1-"/);
    expect(readBreak("breaks/2.1-x.patch", `Rule: 2.1\nTest: t\n${DIFF.replaceAll("src/", "test/")}`)).toMatch(
      /under src/,
    );
  });

  it("finds nothing to put right when the demanded rule has both", () => {
    const tests = [{ file: "test/a.test.ts", rules: ["2.1"], problems: [] }];
    const found = audit(treeOf({ tests, breaks: [breakOf("2.1", "test/a.test.ts")] }));
    expect(found.problems).toEqual([]);
    expect(found.rules[0]).toMatchObject({ rule: "2.1", tests: ["test/a.test.ts"], breaks: ["breaks/2.1-x.patch"] });
  });

  it("names a demanded rule without test or break, and demands nothing of the others", () => {
    expect(audit(treeOf({})).problems).toEqual(["rule 2.1 has no test", "rule 2.1 has no break"]);
  });

  it("names claims and breaks that point nowhere", () => {
    const tests = [
      { file: "test/a.test.ts", rules: ["2.1", "2.99"], problems: [] },
      { file: "test/b.test.ts", rules: ["9.1"], problems: [] },
    ];
    const breaks = [
      breakOf("2.1", "test/gone.test.ts"),
      breakOf("2.1", "test/b.test.ts"),
      breakOf("2.98", "test/a.test.ts"),
    ];
    expect(audit(treeOf({ tests, breaks })).problems).toEqual([
      "test/a.test.ts: claims rule 2.99, which does not exist",
      "breaks/2.1-x.patch: names the test test/gone.test.ts, which does not exist",
      "breaks/2.1-x.patch: test/b.test.ts does not claim rule 2.1 in a top-level title",
      "breaks/2.98-x.patch: breaks rule 2.98, which does not exist",
    ]);
  });

  it("chooses the same breaks for the same seed and others for another", () => {
    const items = Array.from({ length: 50 }, (_, index) => index);
    expect(choose(items, 20, 7)).toEqual(choose(items, 20, 7));
    expect(choose(items, 20, 7)).not.toEqual(choose(items, 20, 8));
    expect(new Set(choose(items, 20, 7)).size).toBe(20);
    expect(choose(items, 99, 7)).toHaveLength(50);
  });
});
