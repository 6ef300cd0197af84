import type { DeadlineOptions } from "lanekeeper";
import { calls } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, outcomes } from "../runner/setting.ts";
import { answering, report, standing } from "./report-world.ts";

const planner = agent("planner");

/** What ends the runs, all in one tick. */
const STOPS: { what: string; deadlines?: DeadlineOptions; inputs: string[]; why: string }[] = [
  { what: "a cancel ends a run", inputs: ["abc"], why: "the run was cancelled" },
  { what: "one cancel ends two runs", inputs: ["abc", "def"], why: "the run was cancelled" },
  {
    what: "a run's deadline ends it",
    deadlines: { runSeconds: 5 },
    inputs: ["abc"],
    why: "deadlines.runSeconds: the run took longer than 5 s",
  },
  {
    what: "the deadline of a tool phase ends its run",
    deadlines: { toolCallSeconds: 5 },
    inputs: ["abc"],
    why: "deadlines.toolCallSeconds: a turn's tool phase took longer than 5 s",
  },
];

describe("Semantics 4.10, 8: a stop that hits calls in flight and calls that wait leaves their lane empty", () => {
  for (const { what, deadlines, inputs, why } of STOPS) {
    for (const idempotent of [false, true]) {
      report(
        `C04: when ${what} with one ${idempotent ? "idempotent " : ""}call in flight and others behind it, the next run starts at once`,
        { starts: { work: 2 } },
        async (world) => {
          const stop = new AbortController();
          const provider = answering((input) => calls(...input.split("").map((id) => ({ id, name: "work" }))));
          const runner = world.runner(provider, [world.listening("work", { idempotent })], {
            concurrency: { perTool: { work: 1 } },
            ...(deadlines === undefined ? {} : { deadlines }),
          });
          const running = inputs.map((input) => world.run(runner, planner, input, { signal: stop.signal }));
          await world.clock.settle();
          expect(world.gate.waiting).toEqual(["a"]);
          if (deadlines === undefined) stop.abort();
          await world.clock.advance(5);
          const ended = await world.clock.promptly(Promise.all(running));
          expect(standing(runner)).toEqual([]);
          expect(ended.flatMap(outcomes)).toEqual([
            idempotent
              ? `a error: stopped in flight: ${why}. Safe to call again.`
              : `a indeterminate: stopped in flight: ${why}. The side effect may have landed.`,
            ...Array.from(inputs.join("").slice(1), (id) => `${id} never_dispatched: never dispatched: ${why}`),
          ]);
          const next = world.run(runner, planner, "x");
          await world.clock.settle();
          expect(world.gate.waiting).toEqual(["x"]);
          expect(outcomes(await world.finish(next))).toEqual(["x ok: done"]);
        },
      );
    }
  }
});
