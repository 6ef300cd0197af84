import { AgentRunner, type ModelProvider, type ModelRequest, type RunEvent, type Tool } from "lanekeeper";
import type { LaneStore } from "lanekeeper/lanes";
import {
  type MakeRunner,
  type SimulateOptions,
  type SimulationPlan,
  type SimulationWorld,
  simulate,
  TestingError,
} from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

/** What a simulation says that is to fail. */
async function foundBy(options: SimulateOptions): Promise<TestingError> {
  const found = await simulate(options).catch((error: unknown) => error);
  if (!(found instanceof TestingError)) throw new Error("the simulation found nothing");
  return found;
}

/** The plan in the program that a failed simulation prints. */
function pasted({ message }: TestingError): SimulationPlan {
  const [, program] = /await simulate\((.*)\);\n/s.exec(message) ?? [];
  return (new Function(`return ${program};`)() as { plan: SimulationPlan }).plan;
}

function callsIn(plan: SimulationPlan): number {
  return JSON.stringify(plan).split('"tool":').length - 1;
}

/** Everything that is counted. */
const KINDS = [
  ...["worlds", "runs", "calls", "bodies", "lentAtDepth3", "deadlocks", "keptLanes", "grantsMetByCancel"],
  ...["abandoned", "overdue", "late", "exclusiveSideBySide", "early", "suspended", "retries", "ceilings"],
  ...["laneFull", "waitExceeded", "refused", "indeterminate", "neverDispatched", "deadlines", "cancelled"],
  ...["modelFaults", "reconfigured", "leftRuns"],
];

/** A lot is simulated, on machines that may have other work. */
const SLOW = { timeout: 60_000 };

/** A few tools, without anything that fails. */
const QUIET: SimulationWorld = {
  tools: { search: {}, book: { parallelSafe: false } },
  concurrency: { maxConcurrentTools: 4, perTool: { search: 1 } },
  dispatch: "after_gates",
  faults: false,
  depth: 1,
};

/** Wraps each tool's body. */
const withBodies =
  (wrap: (run: NonNullable<Tool["run"]>) => NonNullable<Tool["run"]>): MakeRunner =>
  (options) =>
    new AgentRunner({
      ...options,
      tools: options.tools.map((tool) => ({ ...tool, ...(tool.run && { run: wrap(tool.run) }) })),
    });

/** Runners that break a promise, and the rule that is seen to be broken. */
const FAULTS: readonly [string, string, MakeRunner][] = [
  [
    "a bound that is not held",
    "4.6",
    (options) => new AgentRunner({ ...options, concurrency: { maxConcurrentTools: 4, perTool: { search: 2 } } }),
  ],
  [
    "places that lie idle",
    "4.5",
    (options) => {
      const runner = new AgentRunner(options);
      // It tells of lanes as though nobody held a place.
      runner.lanes = () =>
        AgentRunner.prototype.lanes.call(runner).map((lane) => ({ ...lane, inFlight: 0, bound: lane.bound + 1 }));
      return runner;
    },
  ],
  [
    "a body that is started twice",
    "7.5",
    withBodies((run) => (args, ctx) => {
      void run(args, ctx);
      return run(args, ctx);
    }),
  ],
  [
    "tools that are not parallel-safe and are not kept apart",
    "5.1",
    (options) => new AgentRunner({ ...options, tools: options.tools.map((tool) => ({ ...tool, parallelSafe: true })) }),
  ],
  ["a result that is another call's", "2.3", withBodies((run) => async (args, ctx) => `${await run(args, ctx)}!`)],
  [
    "a request without the last result",
    "2.4",
    (options) => {
      const cut = (request: ModelRequest): ModelRequest => {
        const last = request.messages.at(-1);
        return last?.role === "tool" ? { ...request, messages: request.messages.slice(0, -1) } : request;
      };
      const { name, generate, stream }: ModelProvider = options.provider;
      return new AgentRunner({
        ...options,
        provider: {
          name,
          generate: (request, call) => generate(cut(request), call),
          ...(stream && { stream: (request, call) => stream(cut(request), call) }),
        },
      });
    },
  ],
  [
    "a verdict that is told twice",
    "2.4",
    ({ onEvent, ...options }) =>
      new AgentRunner({
        ...options,
        onEvent: (event: RunEvent) => {
          onEvent?.(event);
          if (event.kind === "tool_result") onEvent?.(event);
        },
      }),
  ],
  [
    "a store that tells of no place that comes free",
    "2.8",
    (options) => {
      let taken = false;
      const laneStore: LaneStore = {
        tryAcquire: () => {
          if (taken) return undefined;
          taken = true;
          const release = (): void => {
            taken = false;
          };
          return { release };
        },
        onFreed: () => () => {},
      };
      return new AgentRunner({ ...options, laneStore });
    },
  ],
  [
    "something that is left behind",
    "4.10",
    (options) => {
      const runner = new AgentRunner(options);
      runner.lanes = () => AgentRunner.prototype.lanes.call(runner).map((lane) => ({ ...lane, inFlight: 1 }));
      return runner;
    },
  ],
];

describe("Semantics 2.4, 4.5, 4.6, 8: made-up worlds keep every rule, and one that is broken is found", () => {
  it("worlds of every character keep every rule, and what the rules are about really happens", SLOW, async () => {
    const happened = new Set<string>();
    for (const seed of [2, 3, 13]) {
      const { steps, counts } = await simulate({ seed, steps: 1_500 });
      expect(steps).toBeGreaterThanOrEqual(1_500);
      for (const [what, count] of Object.entries(counts)) if (count > 0) happened.add(what);
    }
    // What passes because it did nothing has proved nothing.
    expect(KINDS.filter((kind) => !happened.has(kind))).toEqual([]);
  });

  it("the same seed is the same simulation, another one is another", SLOW, async () => {
    const [one, again, other] = [
      await simulate({ seed: 8, steps: 800 }),
      await simulate({ seed: 8, steps: 800 }),
      await simulate({ seed: 9, steps: 800 }),
    ];
    expect(again).toEqual(one);
    expect(other.digest).not.toBe(one.digest);
  });

  it("a user's own bounds and tools are kept as they are", SLOW, async () => {
    const { counts } = await simulate({ seed: 1, steps: 600, world: QUIET });
    expect(counts).toMatchObject({ reconfigured: 0, cancelled: 0, retries: 0, modelFaults: 0, ceilings: 0 });
    expect(counts.bodies).toBeGreaterThan(50);
  });

  it.each(FAULTS)("finds %s, and prints a small program that shows it", SLOW, async (_, rule, makeRunner) => {
    const found = await foundBy({ seed: 5, world: QUIET, makeRunner });
    expect(found.message).toMatch(
      new RegExp(`^Seed 5, world \\d+ broke rule ${rule} at step \\d+: .+\nThis breaks it, too`),
    );
    const plan = pasted(found);
    expect(callsIn(plan)).toBeLessThanOrEqual(3);
    const again = await foundBy({ plan, makeRunner });
    expect(again.problems).toEqual(found.problems);
    // It is the runner that is broken, not the plan.
    await simulate({ plan });
  });

  it.each([
    [{ sed: 1 }, "simulate.sed: unknown option"],
    [{ seed: 0.5 }, "seed: expected a whole number, got 0.5"],
    [{ steps: 0 }, "simulate.steps: expected an integer of at least 1, got 0"],
    [{ world: { tool: {} } }, "simulate.world.tool: unknown option"],
    [{ seed: 1, plan: {} }, "simulate.seed: expected none beside `plan`, got 1"],
  ])("refuses %j", async (options, message) => {
    await expect(simulate(options as SimulateOptions)).rejects.toThrow(message);
  });
});
