import { spawnSync } from "node:child_process";
import { dirname } from "node:path";

/**
 * Applies a diff to the tree at `root`, or with `check` only tells whether it would apply. Lines may have moved, and one
 * line of context on each side is enough. Gives what `git` said when it does not apply.
 */
export function gitApply(root: string, diff: string, options?: { check?: boolean }): string | undefined {
  const args = [
    "apply",
    "--recount",
    "-C1",
    "--whitespace=nowarn",
    ...(options?.check === true ? ["--check"] : []),
    "-",
  ];
  // A repository above the tree must not decide what its paths mean.
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(root) };
  const run = spawnSync("git", args, { cwd: root, input: diff, encoding: "utf8", env });
  if (run.error !== undefined) return `git could not be started: ${run.error.message}`;
  return run.status === 0 ? undefined : run.stderr.trim() || `git apply ended with ${run.status ?? run.signal}`;
}
