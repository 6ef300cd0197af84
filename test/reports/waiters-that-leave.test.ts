import { type AgentRunner, type FreeTextAgentOptions, Lanes, type RunnerOptions } from "lanekeeper";
import { calls } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, outcomes } from "../runner/setting.ts";
import { answering, report } from "./report-world.ts";

/** Every input is the name of a tool and how often it is called. */
const asked = answering((input) => {
  const [name = "", times = "1"] = input.split(" ");
  return calls(...Array.from({ length: Number(times) }, (_, no) => ({ id: `${name}_${no}`, name, args: { no } })));
});

/** The ways in which a call that waits stops waiting. */
const WAYS: Record<string, { agents?: Partial<FreeTextAgentOptions>; options?: RunnerOptions; seconds: number }> = {
  "is cancelled": { seconds: 0 },
  "has waited as long as it may": { agents: { concurrency: { maxWaitSeconds: 1 } }, seconds: 1 },
  "reaches its run's deadline": { options: { deadlines: { runSeconds: 1 } }, seconds: 1 },
};

const wide = agent("planner", { concurrency: { maxConcurrentTools: 12 } });

describe("Semantics 4.5, 4.10: whoever leaves a queue lets those behind go on, and nobody jumps it", () => {
  for (const [how, declared] of Object.entries({
    "a tool whose one place is taken": {},
    "a call that must not overlap an equal one": { parallelSafe: false },
  })) {
    report(
      `C02: a call before ${how} holds up nobody who needs only what is free`,
      { starts: { narrow: 1, quick: 1 } },
      async (world) => {
        const stop = new AbortController();
        const perTool = how.startsWith("a tool") ? { narrow: 1 } : {};
        const runner = world.runner(asked, [world.deaf("narrow", declared), world.deaf("quick")], {
          concurrency: { perTenant: 2, perTool },
        });
        const holds = world.run(runner, agent("planner"), "narrow", { tenant: "acme" });
        await world.clock.settle();
        const waits = world.run(runner, agent("planner"), "narrow", { tenant: "acme", signal: stop.signal });
        await world.clock.settle();
        const behind = world.run(runner, agent("planner"), "quick", { tenant: "acme" });
        await world.clock.settle();
        expect(world.gate.waiting).toEqual(["narrow_0", "quick_0"]);
        stop.abort();
        expect(outcomes(await world.clock.promptly(waits))).toEqual([
          "narrow_0 never_dispatched: never dispatched: the run was cancelled",
        ]);
        await world.finish(holds);
        await world.finish(behind);
      },
    );
  }

  for (const [how, { agents, options, seconds }] of Object.entries(WAYS)) {
    report(
      `C02: when a call that places are kept for ${how}, the next in line starts that moment, with nothing given back`,
      { starts: { narrow: 12, quick: 12 } },
      async (world) => {
        const stop = new AbortController();
        const tools = [world.deaf("narrow"), world.deaf("quick")];
        const lanes = new Lanes({ perTenant: 1, perTool: { narrow: 1 } }, { clock: world.clock });
        const runner = world.runner(asked, tools, { lanes });
        const inHurry = world.runner(asked, tools, { lanes, ...options });
        // One place comes free after the other, never both at once.
        const others = world.run(runner, wide, "narrow 12", { tenant: "other" });
        await world.clock.settle();
        const quick = world.run(runner, wide, "quick 1", { tenant: "acme" });
        await world.clock.settle();
        const waits = world.run(inHurry, agent("planner", agents), "narrow", { tenant: "acme", signal: stop.signal });
        await world.clock.settle();
        const more = world.run(runner, wide, "quick 11", { tenant: "acme" });
        await world.clock.settle();
        while (world.gate.waiting.length === 2) {
          world.gate.open(world.gate.waiting[0] as string, "done");
          await world.clock.settle();
        }
        const before = world.gate.waiting;
        expect(before).toHaveLength(1);
        if (seconds === 0) stop.abort();
        await world.clock.advance(seconds);
        expect(world.gate.waiting).toEqual([...before, expect.any(String)]);
        const run = await world.clock.promptly(waits);
        expect(run.results.map(({ status }) => status)).toEqual(["never_dispatched"]);
        for (const other of [others, quick, more]) await world.finish(other);
      },
    );
  }

  report(
    "C02: ten who wait for one place start in order, and those that each of them starts as it ends come after",
    { starts: { first: 11, later: 11 } },
    async (world) => {
      const later: Promise<unknown>[] = [];
      const runner: AgentRunner = world.runner(
        asked,
        [
          world.tool("first", async (_, { runId }) => {
            await world.gate.wait(runId);
            later.push(world.run(runner, agent("planner"), "later", { tenant: "acme", detached: true }));
          }),
          world.deaf("later"),
        ],
        { concurrency: { perTenant: 1 } },
      );
      const first: Promise<unknown>[] = [];
      for (let no = 0; no < 11; no++) {
        first.push(world.run(runner, agent("planner"), "first", { tenant: "acme" }));
        await world.clock.settle();
      }
      for (let no = 1; no <= 11; no++) {
        expect(world.gate.waiting).toEqual([`run_${no}`]);
        world.gate.open(`run_${no}`, "done");
        await world.clock.settle();
      }
      expect(world.gate.waiting).toEqual(["later_0"]);
      world.gate.leaveOpen("done");
      await world.clock.promptly(Promise.all([...first, ...later]));
      const starts = world.heard.filter(({ kind }) => kind === "tool_dispatched").map(({ runId }) => runId);
      expect(starts).toEqual(Array.from({ length: 22 }, (_, no) => `run_${no + 1}`));
    },
  );
});
