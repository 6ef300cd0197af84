import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { type Break, readBreak } from "./break-file.ts";
import { readClaims, type TestClaims } from "./claims.ts";
import { RULES_PAGE, type Rule, readRules } from "./rule-list.ts";

/** What the tree holds about rules, as it stands on disk. */
export interface ProjectTree {
  readonly root: string;
  readonly rules: readonly Rule[];
  readonly tests: readonly TestClaims[];
  readonly breaks: readonly Break[];
  /** Files that could not be read as what they should be. */
  readonly problems: readonly string[];
}

/** Reads rules, the claims of all tests and all breaks of the project at `root`. */
export function readProjectTree(root: string): ProjectTree {
  const rules = readRules(readFileSync(join(root, RULES_PAGE), "utf8"));
  const tests = filesUnder(root, "test", /\.test(?:-d)?\.ts$/).map((file) =>
    readClaims(file, readFileSync(join(root, file), "utf8")),
  );
  const breaks: Break[] = [];
  const problems: string[] = tests.flatMap((test) => test.problems);
  for (const file of filesUnder(root, "breaks", /\.patch$/)) {
    const read = readBreak(file, readFileSync(join(root, file), "utf8"));
    if (typeof read === "string") problems.push(read);
    else breaks.push(read);
  }
  return { root, rules, tests, breaks, problems };
}

/** Files below a folder whose names match, sorted, from the root, with forward slashes. */
function filesUnder(root: string, folder: string, name: RegExp): string[] {
  const top = join(root, folder);
  if (!existsSync(top)) return [];
  return (readdirSync(top, { recursive: true }) as string[])
    .filter((file) => name.test(file) && statSync(join(top, file)).isFile())
    .map((file) => `${folder}/${file.split(sep).join("/")}`)
    .sort();
}
