/**
 * `npm run breaks`: breaks the source in small, recorded ways and demands that each turns its test red.
 *
 *     npm run breaks -- --count 20 [--seed N]      20 of them, chosen by seed (default: from the commit at HEAD)
 *     npm run breaks -- --all
 *     npm run breaks -- breaks/4.5-idle-place.patch …
 *     npm run breaks -- new --rule 4.5 --test test/… --file src/… --find "one line" --replace "other line" --slug idle-place
 *
 * `new` makes a break from the source as it stands, runs it, and keeps it only when it turns its test red.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { parseArgs } from "node:util";
import type { Break } from "./guards/break-file.ts";
import { choose, seedOfHead } from "./guards/choose.ts";
import { makeBreak } from "./guards/make-break.ts";
import { type ProjectTree, readProjectTree } from "./guards/project-tree.ts";
import { type BreakOutcome, runBreaks } from "./guards/run-breaks.ts";
import { killRuns } from "./guards/vitest-run.ts";

const DEFAULT_COUNT = 20;

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // The runs end with an error, so their copies are taken away in the ordinary manner.
    killRuns();
    process.exitCode = 1;
  });
}

try {
  const root = process.cwd();
  const args = process.argv.slice(2);
  process.exitCode = (args[0] === "new" ? await writeNew(root, args.slice(1)) : await runChosen(root, args)) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function runChosen(root: string, args: string[]): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { seed: { type: "string" }, count: { type: "string" }, all: { type: "boolean", default: false } },
  });
  const tree = readProjectTree(root);
  for (const problem of tree.problems) console.error(problem);
  const chosen = chosenBreaks(tree, values, positionals);
  if (chosen.length === 0) throw new Error("no break to run: breaks/ holds none");
  const green = tree.problems.length === 0;
  return (await runAndTell(root, chosen)) && green;
}

function chosenBreaks(
  tree: ProjectTree,
  values: { seed?: string; count?: string; all: boolean },
  files: string[],
): readonly Break[] {
  if (files.length > 0) {
    return files.map((file) => {
      const path = relative(tree.root, resolve(tree.root, file)).split(sep).join("/");
      const one = tree.breaks.find((candidate) => candidate.file === path);
      if (one === undefined) throw new Error(`${file}: expected a break under breaks/`);
      return one;
    });
  }
  if (values.all) return tree.breaks;
  const seed = values.seed === undefined ? seedOfHead(tree.root) : integer("--seed", values.seed, 0);
  const count = values.count === undefined ? DEFAULT_COUNT : integer("--count", values.count, 1);
  const chosen = choose(tree.breaks, count, seed);
  console.log(`${chosen.length} of ${tree.breaks.length} breaks, chosen by --seed ${seed}`);
  return chosen;
}

function integer(option: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(value) || value < least) {
    throw new Error(`${option}: expected an integer of at least ${least}, got ${JSON.stringify(text)}`);
  }
  return value;
}

async function runAndTell(root: string, breaks: readonly Break[]): Promise<boolean> {
  const run = await runBreaks(root, breaks, { onOutcome: tell });
  if (run.kind === "not-green") {
    console.error(`not green without any break:\n${run.tests.map((test) => `  ${test}`).join("\n")}`);
    return false;
  }
  const red = run.outcomes.filter((outcome) => outcome.red).length;
  const missed = run.outcomes.filter((outcome) => !outcome.red);
  console.log(`${red} of ${breaks.length} breaks turned their test red`);
  if (missed.length > 0)
    console.error(`not red:\n${missed.map(({ one, detail }) => `  ${one.file}: ${detail}`).join("\n")}`);
  return red === breaks.length;
}

function tell({ one, red, detail, seconds }: BreakOutcome): void {
  console.log(
    `${red ? "red    " : "NOT RED"} ${seconds.toFixed(1).padStart(5)} s  ${one.file}  ${detail.slice(0, 160)}`,
  );
}

async function writeNew(root: string, args: string[]): Promise<boolean> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args,
    options: { rule: text, test: text, file: text, find: text, replace: text, slug: text },
  });
  const need = (name: keyof typeof values): string => {
    const value = values[name];
    if (value === undefined)
      throw new Error(`--${name}: expected a value; new needs --rule --test --file --find --replace --slug`);
    return value;
  };
  const made = makeBreak(root, {
    rule: need("rule"),
    test: need("test"),
    file: need("file"),
    find: need("find"),
    replace: need("replace"),
    slug: need("slug"),
  });
  const claims = readProjectTree(root).tests.find((test) => test.file === made.one.test);
  if (claims === undefined) throw new Error(`--test: expected a test file, got ${made.one.test}`);
  if (!claims.rules.includes(made.one.rule)) {
    throw new Error(
      `--test: expected a test whose top-level title claims rule ${made.one.rule}: describe("Semantics ${made.one.rule}: …")`,
    );
  }
  if (existsSync(join(root, made.file))) throw new Error(`--slug: ${made.file} is there already`);
  if (!(await runAndTell(root, [made.one]))) {
    console.error(`not kept:\n${made.text}`);
    return false;
  }
  mkdirSync(join(root, "breaks"), { recursive: true });
  writeFileSync(join(root, made.file), made.text);
  console.log(`kept ${made.file}`);
  return true;
}
