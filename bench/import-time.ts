/**
 * How much longer a process takes that imports a door of the package than one that imports an empty module.
 *
 * Build first: `npm run build && npx tsx bench/import-time.ts`. Medians of processes started in turn.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROUNDS = 31;

const folder = mkdtempSync(join(tmpdir(), "lanekeeper-import-"));
const empty = join(folder, "empty.mjs");
writeFileSync(empty, "");
const door = (name: string): string => fileURLToPath(new URL(`../dist/${name}.js`, import.meta.url));
const modules = {
  empty,
  lanekeeper: door("index"),
  "lanekeeper/lanes": door("lanes"),
  "lanekeeper/testing": door("testing"),
};

const times = new Map<string, number[]>();
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [name, file] of Object.entries(modules)) {
    const start = performance.now();
    const { status } = spawnSync(process.execPath, [file]);
    if (status !== 0) throw new Error(`${name}: expected exit code 0, got ${status}`);
    times.set(name, [...(times.get(name) ?? []), performance.now() - start]);
  }
}
rmSync(folder, { recursive: true });

const median = (name: string): number =>
  (times.get(name) ?? []).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
for (const name of times.keys()) {
  const more = (median(name) - median("empty")).toFixed(1);
  console.log(
    `${name.padEnd(20)} ${median(name).toFixed(1).padStart(7)} ms  ${more.padStart(6)} ms more than an empty module`,
  );
}
