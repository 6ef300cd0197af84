/**
 * `npm run examples`: runs each example against the built package and demands that it ends by itself with exit code 0.
 *
 * Build first: examples import the package by its name, as users do.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

const TIMEOUT_MS = 120_000;

const examples = readdirSync("examples")
  .filter((file) => file.endsWith(".ts"))
  .sort();
if (examples.length === 0) throw new Error("examples: expected at least one .ts file, found none");

let failed = 0;
for (const example of examples) {
  console.log(`-- examples/${example}`);
  const start = performance.now();
  const run = spawnSync(process.execPath, ["node_modules/tsx/dist/cli.mjs", `examples/${example}`], {
    stdio: ["ignore", "inherit", "inherit"],
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  const how = run.status === null ? (run.error?.message ?? `signal ${run.signal}`) : `exit code ${run.status}`;
  console.log(`-- examples/${example}: ${how}, ${seconds} s`);
  if (run.status !== 0) failed++;
}
console.log(`${examples.length - failed} of ${examples.length} examples ended with exit code 0`);
if (failed > 0) process.exitCode = 1;
