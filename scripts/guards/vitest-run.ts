import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";

/** What one test file did. */
export interface FileRun {
  readonly passed: number;
  /** The tests that failed, with the first line of each failure. */
  readonly failures: readonly { readonly title: string; readonly reason: string }[];
  /** What went wrong with the file itself, such as an import that failed. */
  readonly fileProblem: string | undefined;
}

/** What a run of vitest gave: files by their path from the root, or why there is nothing to read. */
export type TestRun =
  | { readonly kind: "ran"; readonly files: ReadonlyMap<string, FileRun> }
  | { readonly kind: "hung" }
  | { readonly kind: "crashed"; readonly output: string };

/** The part of vitest's JSON report that is read here. */
interface JsonReport {
  testResults: {
    name: string;
    message: string;
    assertionResults: { title: string; status: string; failureMessages: string[] | null }[];
  }[];
}

const alive = new Set<ChildProcess>();
let stopped = false;

/**
 * Runs the given test files of the tree at `root` in a process group of their own, which is killed after `timeoutMs`.
 * Only files of one sort at a time: type tests (`.test-d.ts`) are checked by the compiler and not run.
 */
export async function runVitest(root: string, files: readonly string[], timeoutMs: number): Promise<TestRun> {
  if (stopped) throw new Error("stopped");
  const types = files.every((file) => file.endsWith(".test-d.ts"));
  const folder = mkdtempSync(join(tmpdir(), "lanekeeper-report-"));
  const report = join(folder, "report.json");
  try {
    const args = ["node_modules/vitest/vitest.mjs", "run", ...files, "--reporter=json", `--outputFile=${report}`];
    const ended = await start(root, [...args, types ? "--typecheck.only" : "--typecheck.enabled=false"], timeoutMs);
    if (stopped) throw new Error("stopped");
    if (ended.hung) return { kind: "hung" };
    if (!existsSync(report)) return { kind: "crashed", output: ended.output };
    return { kind: "ran", files: readReport(root, JSON.parse(readFileSync(report, "utf8")) as JsonReport) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Kills what still runs and lets nothing start again, for when this process is told to stop. */
export function killRuns(): void {
  stopped = true;
  for (const child of alive) killGroup(child);
}

function start(root: string, args: readonly string[], timeoutMs: number): Promise<{ hung: boolean; output: string }> {
  // What an outer vitest says about itself is not for the inner one.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_ENV$)/.test(name)),
  );
  const child = spawn(process.execPath, args, {
    cwd: root,
    detached: true,
    env: { ...env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  alive.add(child);
  let output = "";
  const keep = (data: Buffer): void => {
    output = (output + data.toString()).slice(-4_000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  return new Promise((resolve) => {
    let hung = false;
    const timer = setTimeout(() => {
      hung = true;
      killGroup(child);
    }, timeoutMs);
    const end = (): void => {
      clearTimeout(timer);
      alive.delete(child);
      resolve({ hung, output });
    };
    child.on("error", (error) => {
      output += error.message;
      end();
    });
    child.on("close", end);
  });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

function readReport(root: string, report: JsonReport): Map<string, FileRun> {
  return new Map(
    report.testResults.map((file) => {
      const failed = file.assertionResults.filter((test) => test.status === "failed");
      const run: FileRun = {
        passed: file.assertionResults.filter((test) => test.status === "passed").length,
        failures: failed.map((test) => ({ title: test.title, reason: firstLine(test.failureMessages?.[0]) })),
        fileProblem: file.assertionResults.length === 0 ? firstLine(file.message) || "it holds no test" : undefined,
      };
      return [relative(root, file.name).split(sep).join("/"), run];
    }),
  );
}

function firstLine(text: string | undefined): string {
  return text?.trim().split("\n")[0] ?? "";
}
