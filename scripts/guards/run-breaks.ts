/**
 * Puts breaks into copies of the tree and demands that each turns its test red.
 *
 * R1. A test that is not green without any break proves nothing: all chosen tests are run once on the source as it is.
 * R2. Red means that the file was collected and a test in it failed. A file that cannot be imported, a process that
 *     hangs, and tests that failed only by running out of time do not count: other causes do the same.
 * R3. The original tree is read, never written.
 */
import type { Break } from "./break-file.ts";
import { TreeCopy } from "./tree-copy.ts";
import { type FileRun, runVitest, type TestRun } from "./vitest-run.ts";

/** What became of one break. */
export interface BreakOutcome {
  readonly one: Break;
  readonly red: boolean;
  /** Which test failed and how, or why this is not red. */
  readonly detail: string;
  readonly seconds: number;
}

export interface RunBreaksOptions {
  /** How many run at a time. Default 2. */
  readonly parallel?: number;
  /** How long one test file may take before it counts as hanging. Default 60 s. */
  readonly timeoutMs?: number;
  /** Called for each break when it is done. */
  readonly onOutcome?: (outcome: BreakOutcome) => void;
}

/** Either what became of each break, or the tests that are not green as the source stands. */
export type BreaksRun =
  | { readonly kind: "ran"; readonly outcomes: readonly BreakOutcome[] }
  | { readonly kind: "not-green"; readonly tests: readonly string[] };

export async function runBreaks(
  root: string,
  breaks: readonly Break[],
  options: RunBreaksOptions = {},
): Promise<BreaksRun> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  const copies = Array.from({ length: Math.min(options.parallel ?? 2, breaks.length) }, () => new TreeCopy(root));
  try {
    const first = copies[0];
    if (first === undefined) return { kind: "ran", outcomes: [] };
    const tests = await testsNotGreen(first, [...new Set(breaks.map((one) => one.test))], timeoutMs);
    if (tests.length > 0) return { kind: "not-green", tests };
    const outcomes: BreakOutcome[] = [];
    const waiting = [...breaks];
    const work = async (copy: TreeCopy): Promise<void> => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
        const outcome = await runOne(copy, one, timeoutMs);
        outcomes.push(outcome);
        options.onOutcome?.(outcome);
      }
    };
    await Promise.all(copies.map(work));
    return { kind: "ran", outcomes };
  } finally {
    for (const copy of copies) copy.remove();
  }
}

async function testsNotGreen(copy: TreeCopy, tests: readonly string[], timeoutMs: number): Promise<string[]> {
  const isType = (file: string): boolean => file.endsWith(".test-d.ts");
  const bad: string[] = [];
  for (const files of [tests.filter((file) => !isType(file)), tests.filter(isType)]) {
    if (files.length === 0) continue;
    const run = await runVitest(copy.root, files, timeoutMs * files.length);
    for (const file of files) {
      const why = whyNotGreen(run, file);
      if (why !== undefined) bad.push(`${file}: ${why}`);
    }
  }
  return bad;
}

function whyNotGreen(run: TestRun, file: string): string | undefined {
  if (run.kind === "hung") return "the run hung";
  if (run.kind === "crashed") return `vitest left no report: ${run.output}`;
  const of = run.files.get(file);
  if (of === undefined) return "vitest does not find it";
  if (of.fileProblem !== undefined) return of.fileProblem;
  const failure = of.failures[0];
  if (failure !== undefined) return `${failure.title}: ${failure.reason}`;
  return of.passed === 0 ? "no test of it ran" : undefined;
}

async function runOne(copy: TreeCopy, one: Break, timeoutMs: number): Promise<BreakOutcome> {
  const start = performance.now();
  const outcome = (red: boolean, detail: string): BreakOutcome => ({
    one,
    red,
    detail,
    seconds: (performance.now() - start) / 1_000,
  });
  const refused = copy.apply(one);
  if (refused !== undefined) return outcome(false, `does not apply: ${refused}`);
  try {
    const run = await runVitest(copy.root, [one.test], timeoutMs);
    if (run.kind === "hung") return outcome(false, `hung: ${one.test} did not end in ${timeoutMs / 1_000} s`);
    if (run.kind === "crashed") return outcome(false, `vitest left no report: ${run.output}`);
    return outcome(...judge(run.files.get(one.test)));
  } finally {
    copy.restore(one);
  }
}

/** A test or hook past its time; vitest's JSON report shows the placeholder whose stack it borrows for that error. */
const RAN_OUT_OF_TIME = /timed out in \d+ ?ms|^Error: STACK_TRACE_ERROR$/;

function judge(file: FileRun | undefined): [red: boolean, detail: string] {
  if (file === undefined) return [false, "vitest does not find the test"];
  if (file.fileProblem !== undefined) return [false, `the test file could not be run: ${file.fileProblem}`];
  const inTime = file.failures.find((failure) => !RAN_OUT_OF_TIME.test(failure.reason));
  if (inTime !== undefined) return [true, `${inTime.title}: ${inTime.reason}`];
  const late = file.failures[0];
  if (late !== undefined) return [false, `only ran out of time, which a slow machine does too: ${late.title}`];
  return [false, `stayed green: ${file.passed} passed`];
}
