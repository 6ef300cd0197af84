import { createHash } from "node:crypto";
import { checkFunction, checkOptions, checkPositiveInteger, refuse } from "../base/option-checks.ts";
import { seededRandom } from "./seeded-random.ts";
import { addCounts, noCounts, type SimulationCounts } from "./simulation-counts.ts";
import { makePlan } from "./simulation-make-plan.ts";
import type { SimulationPlan, SimulationWorld } from "./simulation-plan.ts";
import { type MakeRunner, type Played, play } from "./simulation-play.ts";
import { planScript } from "./simulation-script.ts";
import { shrink } from "./simulation-shrink.ts";
import { TestingError } from "./testing-error.ts";

/** What {@link simulate} takes: a seed to make worlds up from, or one `plan`. */
export interface SimulateOptions {
  /** Decides everything that is left to chance: a whole number. The same seed is the same simulation. Default: 1. */
  readonly seed?: number | undefined;
  /** Worlds follow each other until so many steps were taken; the last one is played to its end. Default: 1,000. */
  readonly steps?: number | undefined;
  /** What worlds are made within: your own bounds, tools, tenants. What is left out is made up for each. */
  readonly world?: SimulationWorld | undefined;
  /** Plays this instead: what a failed simulation printed. */
  readonly plan?: SimulationPlan | undefined;
  /** Makes the runner, to change what it is made of: a lane store, wrapped tools. Default: `new AgentRunner(options)`. */
  readonly makeRunner?: MakeRunner | undefined;
}

/** What came of a simulation that broke no rule. */
export interface Simulation {
  /** None when a `plan` was given. */
  readonly seed: number | undefined;
  /** How often everything was checked: at each start and end of a body, a gate, a model's answer, a run, and each change. */
  readonly steps: number;
  /** What really happened: a rule about what never did was not tried. */
  readonly counts: SimulationCounts;
  /** Of everything that was told, and of every transcript: the same for the same seed and the same options. */
  readonly digest: string;
}

const KNOWN = ["seed", "steps", "world", "plan", "makeRunner"] as const satisfies readonly (keyof SimulateOptions)[];
const WORLD = [
  "concurrency",
  "tools",
  "agents",
  "deadlines",
  "dispatch",
  "tenants",
  "runs",
  "depth",
  "faults",
] as const satisfies readonly (keyof SimulationWorld)[];

const DEFAULT_STEPS = 1_000;

/**
 * Tries lanes out: made-up runs of many tenants on a fake clock, whose every step is checked against the rules.
 *
 * Agents call tools and each other, several deep, behind gates that take their time; bodies fail, are deaf and are
 * retried; runs are cancelled, suspended and resumed; bounds change meanwhile. Nothing of it takes real time, and
 * everything follows from the seed.
 *
 * Checked at each step, from outside: no bound is exceeded, counted in the bodies; no call waits beside its places (but
 * for one place a lane, which may be kept for another call: from outside nobody sees for whom); what is not
 * parallel-safe overlaps with nothing; each call is answered once and in call order, has one verdict, and the verdict is
 * true; nothing hangs, and nothing is left at the end.
 *
 * @throws TESTING for the first rule that is broken: which and at what step, with the smallest program found that breaks
 * it. CONFIGURATION for options that could never work.
 * @example
 * const { counts } = await simulate({ seed: 7, steps: 5_000, world: { concurrency: { perTool: { search: 1 } }, tools: { search: {} } } });
 */
export async function simulate(options: SimulateOptions = {}): Promise<Simulation> {
  const {
    seed,
    steps = DEFAULT_STEPS,
    world = {},
    plan,
    makeRunner,
  } = checkOptions("simulate", options, KNOWN) as SimulateOptions;
  checkPositiveInteger("simulate.steps", steps);
  checkOptions("simulate.world", world, WORLD);
  checkFunction("simulate.makeRunner", makeRunner);
  if (plan !== undefined) {
    if (seed !== undefined) refuse("simulate.seed", "none beside `plan`", seed);
    const played = await playOrTell(plan, makeRunner, "This plan");
    return { seed: undefined, steps: played.steps, counts: played.counts, digest: played.digest };
  }
  const known = seed ?? 1;
  const random = seededRandom(known);
  const counts = noCounts();
  const digest = createHash("sha256");
  let taken = 0;
  while (taken < steps) {
    // A world has its own randomness, so that it does not depend on how much those before it took.
    const made = makePlan(seededRandom(Math.floor(random() * 2 ** 32)), world);
    const played = await playOrTell(made, makeRunner, `Seed ${known}, world ${counts.worlds + 1}`);
    taken += played.steps;
    addCounts(counts, played.counts);
    digest.update(played.digest);
  }
  return { seed: known, steps: taken, counts, digest: digest.digest("hex").slice(0, 16) };
}

async function playOrTell(plan: SimulationPlan, makeRunner: MakeRunner | undefined, which: string): Promise<Played> {
  const played = await play(plan, makeRunner);
  const { violation } = played;
  if (violation === undefined) return played;
  const smallest = await shrink({ plan, played }, makeRunner);
  const found = smallest.played.violation ?? violation;
  throw new TestingError(
    `${which} broke rule ${violation.rule} at step ${violation.step}: ${violation.what}\n` +
      `This breaks it, too, at step ${found.step}:\n\n${planScript(smallest.plan)}\n`,
    [`rule ${found.rule}: ${found.what}`],
  );
}
