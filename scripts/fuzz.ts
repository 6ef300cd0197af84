/**
 * `npm run fuzz -- --cases 100000 [--seed n]`: plays many made-up cases against the doors, and says how many went how deep.
 *
 * The properties are those of `test/fuzz`, which `npm test` plays a few of. A failure is told with its smallest case.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { cases: { type: "string", default: "100000" }, seed: { type: "string" } } });
const wholeNumber = (name: string, text: string): string => {
  if (!/^\d+$/.test(text)) throw new Error(`--${name}: expected a whole number, got ${JSON.stringify(text)}`);
  return text;
};

const folder = mkdtempSync(join(tmpdir(), "lanekeeper-fuzz-"));
const report = join(folder, "areas");
const env: NodeJS.ProcessEnv = {
  ...process.env,
  FUZZ_CASES: wholeNumber("cases", values.cases),
  FUZZ_REPORT: report,
  ...(values.seed === undefined ? {} : { FUZZ_SEED: wholeNumber("seed", values.seed) }),
};
const start = performance.now();
const run = spawnSync("npx", ["vitest", "run", "test/fuzz", "--typecheck.enabled=false"], { stdio: "inherit", env });

interface Played {
  name: string;
  played: number;
  reached: number;
}
const areas = new Map<string, Played>();
let lines: string[] = [];
try {
  lines = readFileSync(report, "utf8").trim().split("\n");
} catch {
  // Nothing was played to its end.
}
for (const line of lines) {
  const { name, played, reached } = JSON.parse(line) as Played;
  const area = areas.get(name) ?? { name, played: 0, reached: 0 };
  areas.set(name, { name, played: area.played + played, reached: area.reached + reached });
}
rmSync(folder, { recursive: true });
for (const { name, played, reached } of areas.values()) {
  console.log(`${name}: ${played} cases, ${Math.round((100 * reached) / played)} % went all the way`);
}
const all = [...areas.values()].reduce((sum, { played }) => sum + played, 0);
console.log(`${all} cases in ${((performance.now() - start) / 1_000).toFixed(0)} s`);
if (run.status !== 0) process.exitCode = 1;
