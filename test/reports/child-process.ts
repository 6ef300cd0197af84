/**
 * Runs a script in a process of its own, with the host's clock and timers, and watches how that ends.
 *
 * For what cannot be seen from inside: whether the process ends by itself, with which code, and what it says on stderr.
 */
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What a script says when its runs have settled; from then on nothing should keep its process alive for long. */
const SETTLED = "settled";

/** How long a child may live on after it said so. Far below any limit that the scripts declare, far above a slow machine. */
const LINGERS_MS = 3_000;
/** How long it may take to get there. */
const STARTS_MS = 45_000;

/** How a child ended. */
export interface ChildEnd {
  /** Its exit code; `null` when it had to be killed. */
  readonly code: number | null;
  /** What it said on stdout, line by line, up to `settled`. */
  readonly said: readonly string[];
  readonly stderr: string;
  /** Whether it said that its runs have settled. */
  readonly hasSettled: boolean;
}

/** A child that did what it should. */
export const CLEAN = { code: 0, stderr: "", hasSettled: true } as const;

/**
 * Runs a module, given as text, in a child process at the root of the repository; the package's name is its source there.
 *
 * The text calls `settled()` last, and `say(…)` for what the test wants to hear. It is killed when it does not end by
 * itself shortly after, and then `code` is `null`.
 */
export function inChild(script: string): Promise<ChildEnd> {
  const text = `
    const say = (line) => console.log(line);
    const settled = () => console.log(${JSON.stringify(SETTLED)});
    ${script}
  `;
  const { NODE_OPTIONS: _, ...env } = process.env;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", text], {
    cwd: ROOT,
    env: { ...env, TSX_TSCONFIG_PATH: "tsconfig.check.json" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  const kill = (): void => void child.kill("SIGKILL");
  let limit = setTimeout(kill, STARTS_MS);
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    const hadSettled = hasSettled(stdout);
    stdout += piece;
    if (hadSettled || !hasSettled(stdout)) return;
    clearTimeout(limit);
    limit = setTimeout(kill, LINGERS_MS);
  });
  child.stderr.setEncoding("utf8").on("data", (piece: string) => {
    stderr += piece;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(limit);
      const lines = stdout.split("\n");
      const said = lines.slice(0, lines.indexOf(SETTLED));
      resolve({ code, said, stderr, hasSettled: hasSettled(stdout) });
    });
  });
}

function hasSettled(stdout: string): boolean {
  return stdout.split("\n").slice(0, -1).includes(SETTLED);
}
