import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const OUR_MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));

/** Writes a small project into a temporary folder. Without `node_modules/…` among the files it borrows ours. */
export function madeUpTree(files: Readonly<Record<string, string>>): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "lanekeeper-made-up-")));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  if (!Object.keys(files).some((file) => file.startsWith("node_modules/"))) {
    symlinkSync(OUR_MODULES, join(root, "node_modules"), "dir");
  }
  return root;
}

/** A project of one rule, one source file and one test. */
export const SUMS: Readonly<Record<string, string>> = {
  "package.json": '{ "type": "module" }\n',
  "docs/rules.md": "| rule | in short |\n|---|---|\n| 2.1 | Sums add up |\n",
  "src/sum.ts": [
    "// Adds, and nothing else.",
    "export function sum(a: number, b: number): number {",
    "  return a + b;",
    "}",
    "",
    "export const later = (): Promise<void> => Promise.resolve();",
    "",
  ].join("\n"),
  "test/sum.test.ts": [
    'import { describe, expect, it } from "vitest";',
    'import { later, sum } from "../src/sum.ts";',
    'describe("Semantics 2.1: sums add up", () => {',
    '  it("adds two numbers", () => expect(sum(1, 2)).toBe(3));',
    '  it("comes back", () => later(), 50);',
    "});",
    "",
  ].join("\n"),
};
