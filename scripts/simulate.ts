/**
 * `npm run simulate`: simulates whole runs by seed, and stops with a small program that fails when a rule is broken.
 *
 *     npm run simulate -- --steps 1000000 [--seed N]   seeds from N on (default: 1), until so many steps were taken
 *     npm run simulate -- --steps 1000000 --write      the same, and records what happened in simulation/counts.json
 *     npm run simulate -- --check                      runs the recorded slice again, and demands the same of it
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { type Simulation, type SimulationCounts, simulate, TestingError } from "../src/testing.ts";

const FILE = "simulation/counts.json";
const STEPS_PER_SEED = 5_000;
const DEFAULT_STEPS = 100_000;

/** What is recorded: nothing of the machine, so that the same source writes the same file anywhere. */
interface Recorded {
  readonly firstSeed: number;
  readonly lastSeed: number;
  readonly stepsPerSeed: number;
  readonly steps: number;
  readonly counts: Readonly<SimulationCounts>;
  /** What the first seed came to: run again by `--check`. */
  readonly slice: Simulation;
}

try {
  const { values } = parseArgs({
    options: {
      steps: { type: "string" },
      seed: { type: "string" },
      write: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
    },
  });
  if (values.check) await check();
  else {
    const recorded = await run(integer("--seed", values.seed, 1), integer("--steps", values.steps, DEFAULT_STEPS));
    tell(recorded.counts, recorded.steps);
    if (values.write) write(recorded);
  }
} catch (error) {
  console.error(error instanceof TestingError || !(error instanceof Error) ? `\n${error}` : error.message);
  process.exitCode = 1;
}

async function run(firstSeed: number, wanted: number): Promise<Recorded> {
  const startedAt = performance.now();
  let slice: Simulation | undefined;
  const counts: Partial<SimulationCounts> = {};
  let steps = 0;
  let seed = firstSeed;
  for (; steps < wanted; seed++) {
    const simulation = await simulate({ seed, steps: STEPS_PER_SEED });
    slice ??= simulation;
    steps += simulation.steps;
    for (const [key, count] of entriesOf(simulation.counts)) counts[key] = (counts[key] ?? 0) + count;
    if (process.stderr.isTTY) {
      const perSecond = Math.round((steps / (performance.now() - startedAt)) * 1_000);
      process.stderr.write(`\rseed ${seed}: ${steps} of ${wanted} steps, ${perSecond} a second `);
    }
  }
  if (process.stderr.isTTY) process.stderr.write("\n");
  const all = counts as SimulationCounts;
  return {
    firstSeed,
    lastSeed: seed - 1,
    stepsPerSeed: STEPS_PER_SEED,
    steps,
    counts: all,
    slice: slice as Simulation,
  };
}

async function check(): Promise<void> {
  const { slice, stepsPerSeed } = JSON.parse(readFileSync(FILE, "utf8")) as Recorded;
  const again = await simulate({ seed: slice.seed, steps: stepsPerSeed });
  if (isDeepStrictEqual({ ...again }, { ...slice })) {
    console.log(`seed ${slice.seed}: ${again.steps} steps, digest ${again.digest}, as recorded in ${FILE}`);
    return;
  }
  const changed = entriesOf(again.counts).filter(([key, count]) => slice.counts[key] !== count);
  throw new Error(
    [
      `${FILE}: seed ${slice.seed} came out otherwise than recorded; when that is meant, run it with --write`,
      `  digest ${slice.digest} → ${again.digest}, steps ${slice.steps} → ${again.steps}`,
      ...changed.map(([key, count]) => `  ${key} ${slice.counts[key]} → ${count}`),
    ].join("\n"),
  );
}

function tell(counts: Readonly<SimulationCounts>, steps: number): void {
  for (const [key, count] of [["steps", steps] as const, ...entriesOf(counts)]) {
    console.log(`${String(count).padStart(12)}  ${key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`);
  }
}

function write(recorded: Recorded): void {
  mkdirSync("simulation", { recursive: true });
  writeFileSync(FILE, `${JSON.stringify(recorded, undefined, 2)}\n`);
  console.log(`wrote ${FILE}`);
}

function entriesOf(counts: Readonly<SimulationCounts>): [keyof SimulationCounts, number][] {
  return Object.entries(counts) as [keyof SimulationCounts, number][];
}

function integer(option: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(value) || value < 1) {
    throw new Error(`${option}: expected an integer of at least 1, got ${JSON.stringify(text)}`);
  }
  return value;
}
