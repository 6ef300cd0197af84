import { type Hook, Lanes, type RunnerOptions } from "lanekeeper";
import { calls } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent } from "../runner/setting.ts";
import { answering, report, standing } from "./report-world.ts";

const planner = agent("planner");
const asked = answering((input) => calls(...input.split(" ").map((name, no) => ({ id: `${name}_${no}`, name }))));

/** Breaks the second of two calls, while the first waits. */
const breaksSecond: Hook = {
  name: "breaks",
  beforeTool: ({ id }) => {
    if (id === "narrow_1") throw new Error("a hook broke");
  },
};

/** The ways in which calls that have room in all lanes but one come to nothing; each of them waits in `narrow`. */
const WAYS: Record<string, { input?: string; options?: RunnerOptions; seconds?: number; says: RegExp[] }> = {
  "its run is cancelled": { says: [/the run was cancelled/] },
  "its run's deadline passes": { options: { deadlines: { runSeconds: 1 } }, seconds: 1, says: [/runSeconds/] },
  "it has waited as long as it may": {
    options: { concurrency: { maxWaitSeconds: 1 } },
    seconds: 1,
    says: [/tool:narrow/],
  },
  "there is no room in its queue for the next one": {
    input: "narrow narrow",
    options: { concurrency: { maxWaiting: 1 } },
    says: [/the run was cancelled/, /at most 1 waiting/],
  },
  "a hook breaks the next one": {
    input: "narrow narrow",
    options: { hooks: [breaksSecond] },
    says: [/the run was cancelled/, /a hook broke/],
  },
};

describe("Semantics 4.4, 4.10: a call that waits holds no place, so that none is left behind when it gives up", () => {
  for (const [how, { input = "narrow", options = {}, seconds = 0, says }] of Object.entries(WAYS)) {
    report(
      `C10: the places that a call was waiting to take with another are free for others, while it waits and when ${how}`,
      { starts: { narrow: 1, other: 4 } },
      async (world) => {
        const { concurrency, ...more } = options;
        const bounds = { perTenant: 2, perTool: { narrow: 1 }, ...concurrency };
        const lanes = new Lanes(bounds as object, { clock: world.clock });
        const tools = [world.deaf("narrow"), world.deaf("other")];
        const runner = world.runner(asked, tools, { lanes });
        const limited = world.runner(asked, tools, { lanes, ...more });
        const stop = new AbortController();
        const acme = { tenant: "acme" };
        const holds = world.run(runner, planner, "narrow", { tenant: "other" });
        await world.clock.settle();
        const waits = world.run(limited, planner, input, { ...acme, signal: stop.signal });
        await world.clock.settle();
        expect(standing(runner).filter((line) => !line.startsWith("turn"))).toEqual([
          "tool:narrow: 1 in flight, 1 waiting",
          "tenant:other: 1 in flight, 0 waiting",
          "tenant:acme: 0 in flight, 1 waiting",
        ]);
        const beside = world.run(runner, planner, "other other", acme);
        await world.clock.settle();
        expect(world.gate.waiting).toEqual(["narrow_0", "other_0", "other_1"]);
        for (const id of ["other_0", "other_1"]) world.gate.open(id, "done");
        await world.clock.promptly(beside);
        await world.clock.advance(seconds);
        if (seconds === 0) stop.abort();
        const run = await world.clock.promptly(waits);
        expect(run.results.map(({ status }) => status)).toEqual(says.map(() => "never_dispatched"));
        for (const [no, one] of says.entries()) expect(run.results[no]?.content).toMatch(one);
        expect(standing(runner).filter((line) => line.startsWith("tenant"))).toEqual([
          "tenant:other: 1 in flight, 0 waiting",
        ]);
        const after = world.run(runner, planner, "other other", acme);
        await world.clock.settle();
        expect(world.gate.waiting).toEqual(["narrow_0", "other_0", "other_1"]);
        await world.finish(after);
        await world.finish(holds);
      },
    );
  }
});
