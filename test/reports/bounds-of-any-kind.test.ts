import { AgentRunner, type ConcurrencyOptions, ConfigurationError, Lanes, type RunnerOptions } from "lanekeeper";
import { calls } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, tool } from "../runner/setting.ts";
import { answering, report } from "./report-world.ts";

const NO_BOUND: [unknown, string][] = [
  [0, "0"],
  [-1, "-1"],
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "Infinity"],
  ["4", '"4"'],
  [1.5, "1.5"],
  [null, "null"],
  [true, "true"],
  [4n, "4n"],
];

/** Where bounds are declared, each with a way to say it. */
const PLACES: Record<string, (bound: unknown) => RunnerOptions> = {
  "concurrency.maxConcurrentTools": (maxConcurrentTools) => ({ concurrency: { maxConcurrentTools } as never }),
  "concurrency.perTool.work": (work) => ({ concurrency: { perTool: { work } } as never }),
  "concurrency.perTool.work.inFlight": (inFlight) => ({ concurrency: { perTool: { work: { inFlight } } } as never }),
  "concurrency.perTool.work.starts.count": (count) => ({
    concurrency: { perTool: { work: { starts: { count, perSeconds: 1 } } } } as never,
  }),
  "concurrency.perTenant": (perTenant) => ({ concurrency: { perTenant } as never }),
  "concurrency.perResource.api": (api) => ({ concurrency: { perResource: { api } } as never }),
  "concurrency.maxWaiting": (maxWaiting) => ({ concurrency: { maxWaiting } as never }),
  "limits.maxCallsPerTurn": (maxCallsPerTurn) => ({ limits: { maxCallsPerTurn } as never }),
  "limits.maxDepth": (maxDepth) => ({ limits: { maxDepth } as never }),
};

const work = tool("work", () => "done", { resource: "api" });
const provider = answering(() => calls(...Array.from({ length: 14 }, (_, no) => ({ id: `w${no}`, name: "work" }))));
const planner = agent("planner", { concurrency: { maxConcurrentTools: 14 } });

/** The error that this throws. */
function thrownBy(act: () => unknown): ConfigurationError {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("Semantics 4.1, 4.9: a bound that could never work is refused at the door, and one that works may be changed", () => {
  for (const [place, options] of Object.entries(PLACES)) {
    it(`C80: ${place} takes an integer of at least 1, and names what came instead`, () => {
      for (const [bound, shown] of NO_BOUND) {
        const { message } = thrownBy(() => new AgentRunner({ provider, tools: [work], ...options(bound) }));
        expect(message).toMatch(new RegExp(`^${place.replaceAll(".", "\\.")}: expected .*at least 1.*, got `));
        expect(message.endsWith(`got ${shown}`)).toBe(true);
      }
      expect(new AgentRunner({ provider, tools: [work], ...options(1) })).toBeInstanceOf(AgentRunner);
    });
  }

  it("C80: the same goes for bounds that are changed later, for an agent's, and for lanes alone; nothing is half changed", () => {
    const runner = new AgentRunner({ provider, tools: [work], concurrency: { perTool: { work: 4 } } });
    for (const [bound] of NO_BOUND) {
      const perTool = { work: bound as number };
      const acts = [
        () => runner.configure({ maxConcurrentTools: 2, perTool }),
        () => agent("any", { concurrency: { perTool } }),
        () => new Lanes({ perTool }),
      ];
      for (const act of acts) expect(thrownBy(act).message).toMatch(/perTool\.work: expected .*at least 1/);
    }
    expect(runner.lanes()).toMatchObject([{ lane: "tool:work", bound: 4 }]);
  });

  report(
    "C80: a bound that is left out, or undefined, is none: a turn then has eight places",
    { starts: { work: 14 } },
    async (world) => {
      const nothing = {
        perTool: { work: undefined },
        perTenant: undefined,
        perResource: {},
        maxConcurrentTools: undefined,
      };
      const runner = world.runner(provider, [world.deaf("work")], {
        concurrency: nothing as unknown as ConcurrencyOptions,
      });
      const running = world.run(runner);
      await world.clock.settle();
      expect(world.gate.waiting).toHaveLength(8);
      await world.finish(running);
    },
  );

  report(
    "C80: a bound that a function gives for a tenant, and that is none, fails the call and hangs nobody",
    { starts: {} },
    async (world) => {
      let current: unknown;
      for (const [bound, shown] of NO_BOUND) {
        current = bound;
        const runner = world.runner(provider, [world.deaf("work")], {
          concurrency: { perTenant: () => current as number },
        });
        const run = await world.clock.promptly(world.run(runner));
        expect(run.results[0]).toMatchObject({ status: "never_dispatched", error: { code: "CONFIGURATION" } });
        expect(run.results[0]?.content).toContain(`got ${shown}`);
      }
      current = 1;
    },
  );

  const CHANGED: Record<string, (bound: number) => ConcurrencyOptions> = {
    perTool: (bound) => ({ perTool: { work: bound } }),
    perTenant: (bound) => ({ perTenant: bound }),
    perResource: (bound) => ({ perResource: { api: bound } }),
    maxConcurrentTools: (bound) => ({ maxConcurrentTools: bound }),
  };
  for (const [what, bounds] of Object.entries(CHANGED)) {
    report(
      `C80: ${what} lowered from 4 to 1 stops nobody and lets nobody start until one is left; raised to 4, three start at once`,
      { starts: { work: 14 } },
      async (world) => {
        const { gate, clock } = world;
        const unbounded = what === "maxConcurrentTools" ? {} : { maxConcurrentTools: 14 };
        const runner = world.runner(provider, [world.deaf("work", { resource: "api" })], {
          concurrency: { ...unbounded, ...bounds(4) },
        });
        const running = world.run(runner, what === "maxConcurrentTools" ? agent("planner") : planner);
        await clock.settle();
        expect(gate.waiting).toEqual(["w0", "w1", "w2", "w3"]);
        runner.configure(bounds(1));
        for (const left of [3, 2, 1]) {
          gate.open(gate.waiting[0] as string, "done");
          await clock.settle();
          expect(gate.waiting).toHaveLength(left);
        }
        gate.open("w3", "done");
        await clock.settle();
        expect(gate.waiting).toEqual(["w4"]);
        runner.configure(bounds(4));
        await clock.settle();
        expect(gate.waiting).toEqual(["w4", "w5", "w6", "w7"]);
        expect((await world.finish(running)).results.every(({ status }) => status === "ok")).toBe(true);
      },
    );
  }
});
