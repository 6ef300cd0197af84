import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Break } from "../../scripts/guards/break-file.ts";
import { makeBreak } from "../../scripts/guards/make-break.ts";
import { type BreakOutcome, runBreaks } from "../../scripts/guards/run-breaks.ts";
import { TreeCopy } from "../../scripts/guards/tree-copy.ts";
import { madeUpTree, SUMS } from "./made-up-tree.ts";

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

function tree(files: Readonly<Record<string, string>> = SUMS): string {
  const root = madeUpTree(files);
  roots.push(root);
  return root;
}

function breakOf(root: string, slug: string, find: string, replace: string): Break {
  return makeBreak(root, { rule: "2.1", test: "test/sum.test.ts", file: "src/sum.ts", find, replace, slug }).one;
}

async function outcomes(root: string, breaks: Break[], timeoutMs?: number): Promise<Map<string, BreakOutcome>> {
  const run = await runBreaks(root, breaks, timeoutMs === undefined ? {} : { timeoutMs });
  if (run.kind === "not-green") throw new Error(run.tests.join("\n"));
  return new Map(run.outcomes.map((outcome) => [outcome.one.file, outcome]));
}

describe("Breaks of the source: only a test that failed counts as red", () => {
  it("tells a break that turns its test red from those that do not, and leaves the tree alone", async () => {
    const root = tree();
    const gone: Break = { ...breakOf(root, "gone", "a + b", "a - b"), file: "breaks/2.1-gone.patch" };
    const stale: Break = { ...gone, diff: gone.diff.replaceAll("a + b", "a * b") };
    const run = await outcomes(root, [
      breakOf(root, "red", "a + b", "a - b"),
      breakOf(root, "green", "nothing else", "nothing more"),
      breakOf(root, "syntax", "return a", "return ) a"),
      breakOf(root, "late", "Promise.resolve()", "new Promise(() => {})"),
      stale,
    ]);

    expect(run.get("breaks/2.1-red.patch")).toMatchObject({ red: true });
    expect(run.get("breaks/2.1-red.patch")?.detail).toContain("adds two numbers");
    expect(run.get("breaks/2.1-green.patch")).toMatchObject({ red: false, detail: "stayed green: 2 passed" });
    expect(run.get("breaks/2.1-syntax.patch")?.red).toBe(false);
    expect(run.get("breaks/2.1-syntax.patch")?.detail).toContain("the test file could not be run");
    expect(run.get("breaks/2.1-late.patch")?.red).toBe(false);
    expect(run.get("breaks/2.1-late.patch")?.detail).toContain("only ran out of time");
    expect(run.get("breaks/2.1-gone.patch")?.red).toBe(false);
    expect(run.get("breaks/2.1-gone.patch")?.detail).toContain("does not apply");
    expect(readFileSync(join(root, "src/sum.ts"), "utf8")).toBe(SUMS["src/sum.ts"]);
  }, 60_000);

  it("runs no break when a chosen test is not green without any", async () => {
    const root = tree({ ...SUMS, "test/sum.test.ts": SUMS["test/sum.test.ts"]?.replace("toBe(3)", "toBe(4)") ?? "" });
    const run = await runBreaks(root, [breakOf(root, "red", "a + b", "a - b")]);
    expect(run.kind).toBe("not-green");
    expect(run.kind === "not-green" && run.tests[0]).toContain("adds two numbers");
  }, 60_000);

  it("counts a run that hangs as not red, and ends it", async () => {
    const hangsWhenBroken = [
      'import { readFileSync, writeFileSync } from "node:fs";',
      'while (readFileSync("src/sum.ts", "utf8").includes("a - b")) {}',
      'const out = process.argv.find((arg) => arg.startsWith("--outputFile=")).slice("--outputFile=".length);',
      'const test = { title: "adds", status: "passed", failureMessages: [] };',
      "const file = { name: process.cwd() + '/test/sum.test.ts', message: '', assertionResults: [test] };",
      "writeFileSync(out, JSON.stringify({ testResults: [file] }));",
    ].join("\n");
    const root = tree({ ...SUMS, "node_modules/vitest/vitest.mjs": hangsWhenBroken });
    const run = await outcomes(root, [breakOf(root, "hang", "a + b", "a - b")], 2_000);
    expect(run.get("breaks/2.1-hang.patch")).toMatchObject({ red: false });
    expect(run.get("breaks/2.1-hang.patch")?.detail).toContain("hung");
  }, 60_000);

  it("applies a break whose lines have moved and whose surroundings changed, and takes it out again", () => {
    const root = tree();
    const one = breakOf(root, "moved", "a + b", "a - b");
    const moved = tree({
      ...SUMS,
      "src/sum.ts": `// One more line.\n\n${SUMS["src/sum.ts"]?.replace("nothing else", "nothing more")}`,
    });
    const copy = new TreeCopy(moved);
    try {
      const source = (): string => readFileSync(join(copy.root, "src/sum.ts"), "utf8");
      expect(copy.apply(one)).toBeUndefined();
      expect(source()).toContain("a - b");
      copy.restore(one);
      expect(source()).toContain("a + b");
    } finally {
      copy.remove();
    }
    expect(existsSync(copy.root)).toBe(false);
  });
});
