import {
  AgentRunner,
  type ConcurrencyOptions,
  ConfigurationError,
  type FreeTextAgentOptions,
  type Run,
  type RunEvent,
  type RunnerOptions,
  type ToolOptions,
} from "lanekeeper";
import { calls } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, tool } from "../runner/setting.ts";
import { CLEAN, inChild } from "./child-process.ts";
import { answering, type ReportWorld, report } from "./report-world.ts";

interface Limited {
  readonly options?: RunnerOptions;
  readonly declared?: Partial<ToolOptions>;
  readonly agents?: Partial<FreeTextAgentOptions>;
}

/** Where seconds are declared. */
const PLACES: Record<string, (seconds: number) => Limited> = {
  "deadlines.runSeconds": (runSeconds) => ({ options: { deadlines: { runSeconds } } }),
  "deadlines.modelCallSeconds": (modelCallSeconds) => ({ options: { deadlines: { modelCallSeconds } } }),
  "deadlines.toolCallSeconds": (toolCallSeconds) => ({ options: { deadlines: { toolCallSeconds } } }),
  "concurrency.perToolSeconds.work": (work) => ({ options: { concurrency: { perToolSeconds: { work } } } }),
  "concurrency.maxWaitSeconds": (maxWaitSeconds) => ({ options: { concurrency: { maxWaitSeconds } } }),
  "concurrency.abandonSeconds": (abandonSeconds) => ({ options: { concurrency: { abandonSeconds } } }),
  abandonSeconds: (abandonSeconds) => ({ declared: { abandonSeconds } }),
  "an agent's perToolSeconds.work": (work) => ({ agents: { concurrency: { perToolSeconds: { work } } } }),
};

// `null` is no way to leave a duration out here: absent, `undefined` or `Infinity` is.
const NO_SECONDS = [0, -1, -0.001, Number.NaN, Number.NEGATIVE_INFINITY, "500", null, true, 5n];

const provider = answering(() => calls({ work: {} }, { work: {} }));

/** What tells of the end that a limit brings, and how a run stands still until then: in a body, a model or a queue. */
interface Ending {
  readonly of: RunEvent["kind"];
  readonly silent?: boolean;
  readonly busy?: boolean;
}

const ENDS: Record<string, Ending> = {
  "deadlines.runSeconds": { of: "run_failed" },
  "deadlines.modelCallSeconds": { of: "run_failed", silent: true },
  "deadlines.toolCallSeconds": { of: "run_failed" },
  "concurrency.perToolSeconds.work": { of: "tool_error" },
  "an agent's perToolSeconds.work": { of: "tool_error" },
  "concurrency.maxWaitSeconds": { of: "tool_error", busy: true },
};

/** Runs that stand still. */
async function start(
  world: ReportWorld,
  { options, agents }: Limited,
  { silent, busy }: Ending,
): Promise<Promise<Run>[]> {
  const one = answering(() => calls({ work: {} }));
  const model = silent ? { name: "silent", generate: () => world.gate.wait("model") as never } : one;
  const concurrency = { ...(options?.concurrency as ConcurrencyOptions), ...(busy ? { perTool: { work: 1 } } : {}) };
  const runner = world.runner(model, [world.deaf("work")], { ...options, concurrency });
  const runs = Array.from({ length: busy ? 2 : 1 }, () => world.run(runner, agent("planner", agents)));
  await world.clock.settle();
  return runs;
}

describe("Semantics 7.4: a number of seconds holds as given, however large, or is none, or is refused", () => {
  for (const [place, limited] of Object.entries(PLACES)) {
    it(`C22: ${place} refuses what is no duration, and names what came`, () => {
      for (const seconds of NO_SECONDS) {
        const make = (): unknown => {
          const { options, declared, agents } = limited(seconds as number);
          agent("planner", agents);
          return new AgentRunner({ provider, tools: [tool("work", () => "done", declared)], ...options });
        };
        expect(make).toThrow(ConfigurationError);
        expect(make).toThrow(/[sS]econds\S*: expected a number of seconds above 0, or Infinity for none, got /);
      }
    });
  }

  for (const [place, ends] of Object.entries(ENDS)) {
    const limited = PLACES[place] as (seconds: number) => Limited;
    for (const seconds of [0.0015, 1.5, 2 ** 31 / 1_000, 2 ** 31 / 1_000 + 1, 2 ** 31, 2 ** 40]) {
      report(
        `C22: ${place} of ${seconds} s ends at that moment, and not before`,
        { starts: ends.silent ? {} : { work: 1 } },
        async (world) => {
          const runs = await start(world, limited(seconds), ends);
          const ended = () => world.heard.filter(({ kind }) => kind === ends.of).length;
          await world.clock.advance(seconds * 0.999);
          expect(ended()).toBe(0);
          // The machine's clock is set meanwhile: nothing is measured by it.
          world.clock.jumpWallClock(1e9);
          world.clock.jumpWallClock(-2e9);
          await world.clock.settle();
          expect(ended()).toBe(0);
          await world.clock.advance(seconds * 0.001 + 0.000_001);
          expect(ended()).toBe(1);
          for (const run of runs) await world.finish(run);
        },
      );
    }

    for (const none of [undefined, Number.POSITIVE_INFINITY]) {
      report(
        `C22: ${place} of ${none} is none`,
        { starts: ends.silent ? {} : { work: ends.busy ? 2 : 1 } },
        async (world) => {
          const runs = await start(world, limited(none as number), ends);
          expect(world.clock.pending).toEqual({ foreground: 0, background: 0 });
          for (const run of runs) await world.finish(run);
        },
      );
    }
  }

  it("C22: on the host's clock, too, no limit of any size ends anything early or warns", {
    timeout: 60_000,
  }, async () => {
    const end = await inChild(`
      import { Agent, AgentRunner, defineTool } from "lanekeeper";
      import { calls, say as answer, ScriptedProvider } from "lanekeeper/testing";

      const sizes = [undefined, Infinity, 2 ** 31 / 1_000 - 1, 2 ** 31 / 1_000, 2 ** 31, 2 ** 32, 2 ** 40, 2 ** 53, 1e300];
      for (const seconds of sizes) {
        const stop = new AbortController();
        const take = (ms) => new Promise((resolve) => setTimeout(resolve, ms, "done"));
        const common = { description: "", input: { type: "object" } };
        const work = defineTool({ ...common, name: "work", run: () => take(20) });
        const deaf = defineTool({ ...common, name: "deaf", abandonSeconds: seconds, run: () => { stop.abort(); return take(20); } });
        const again = defineTool({
          ...common, name: "again", idempotent: true,
          retry: { attempts: 2, backoffSeconds: 0.001, maxBackoffSeconds: seconds === undefined || seconds > 1e6 ? 1e6 : seconds },
          run: (_, { attempt }) => { if (attempt === 1) throw new Error("not yet"); return "done"; },
        });
        const runner = new AgentRunner({
          provider: new ScriptedProvider(calls({ work: {} }, { work: {} }, { again: {} }), answer("ok"), calls({ deaf: {} })),
          tools: [work, deaf, again],
          concurrency: {
            perTool: { work: 1 }, perToolSeconds: { work: seconds, deaf: seconds },
            maxWaitSeconds: seconds, abandonSeconds: seconds,
          },
          deadlines: { runSeconds: seconds, modelCallSeconds: seconds, toolCallSeconds: seconds },
        });
        const agent = new Agent({ name: "planner", model: "m", freeText: true });
        const run = await runner.run(agent, "Go.");
        const cancelled = await runner.run(agent, "Go.", { signal: stop.signal });
        say([run.status, ...run.results.map(({ status }) => status), cancelled.status].join(" "));
      }
      settled();
    `);
    expect(end).toEqual({ ...CLEAN, said: Array(9).fill("completed ok ok ok cancelled") });
  });
});
