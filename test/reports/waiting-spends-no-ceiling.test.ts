import type { RunEvent } from "lanekeeper";
import { calls } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { errorOf, takes } from "../runner/setting.ts";
import { answering, type ReportWorld, report } from "./report-world.ts";

const five = answering(() => calls(...Array.from({ length: 5 }, (_, no) => ({ id: `w${no}`, name: "work" }))));
const BOUNDS = { concurrency: { perTool: { work: 1 }, perToolSeconds: { work: 10 } } };

function of<Kind extends RunEvent["kind"]>({ heard }: ReportWorld, kind: Kind): Extract<RunEvent, { kind: Kind }>[] {
  return heard.filter((event) => event.kind === kind) as Extract<RunEvent, { kind: Kind }>[];
}

describe("Semantics 3.8, 7.2, 7.4: a tool's ceiling counts from dispatch, a run's deadline from its start", () => {
  report(
    "C35: five calls that wait for each other all keep within their ceiling, and waiting and work are told apart",
    { starts: { work: 5 } },
    async (world) => {
      const runner = world.runner(five, [world.tool("work", takes(8))], BOUNDS);
      const running = world.run(runner);
      await world.clock.advance(40);
      const run = await world.clock.promptly(running);
      expect(run.results.map(({ status }) => status)).toEqual(Array(5).fill("ok"));
      expect(of(world, "tool_dispatched").map(({ waitedSeconds }) => waitedSeconds)).toEqual(
        [0, 8, 16, 24, 32].map((tool) => ({ tenant: 0, turn: 0, tool, resource: 0 })),
      );
      expect(of(world, "tool_completed").map(({ seconds }) => seconds)).toEqual([8, 8, 8, 8, 8]);
    },
  );

  report(
    "C35: a person who takes her time before the first call spends no call's ceiling",
    { starts: { work: 5 } },
    async (world) => {
      const work = world.tool("work", takes(8), { requiresApproval: true });
      const runner = world.runner(five, [work], {
        ...BOUNDS,
        approver: ({ callId }) => {
          if (callId !== "w0") return { approve: true };
          return new Promise((resolve) => void world.clock.setTimer(20_000, () => resolve({ approve: true })));
        },
      });
      const running = world.run(runner);
      await world.clock.advance(60);
      const run = await world.clock.promptly(running);
      expect(run.results.map(({ status }) => status)).toEqual(Array(5).fill("ok"));
    },
  );

  report(
    "C35: a call that must run alone waits for those before it, and they after it, on nobody's ceiling",
    { starts: { work: 5 } },
    async (world) => {
      const work = world.tool("work", takes(8), {
        parallelSafe: (args) => (args as { alone: boolean }).alone !== true,
      });
      const asked = calls(...Array.from({ length: 5 }, (_, no) => ({ work: { no, alone: no === 2 } })));
      const runner = world.runner(
        answering(() => asked),
        [work],
        { concurrency: { perTool: { work: 2 }, perToolSeconds: { work: 10 } } },
      );
      const running = world.run(runner);
      await world.clock.advance(24);
      const run = await world.clock.promptly(running);
      expect(run.results.map(({ status }) => status)).toEqual(Array(5).fill("ok"));
      expect(of(world, "tool_dispatched").map(({ at }) => (at - (world.heard[0]?.at ?? 0)) / 1_000)).toEqual([
        0, 0, 8, 16, 16,
      ]);
    },
  );

  for (const name of ["runSeconds", "toolCallSeconds"] as const) {
    report(
      `C35: ${name} counts the waits in lanes, and ends the run in the midst of them`,
      { starts: { work: 4 } },
      async (world) => {
        const runner = world.runner(five, [world.tool("work", takes(8))], { ...BOUNDS, deadlines: { [name]: 30 } });
        const running = world.run(runner);
        await world.clock.advance(30);
        const run = await world.clock.promptly(running);
        expect(errorOf(run).code).toBe("DEADLINE_EXCEEDED");
        expect(run.results.map(({ status }) => status)).toEqual([
          "ok",
          "ok",
          "ok",
          "indeterminate",
          "never_dispatched",
        ]);
        await world.clock.advance(10);
      },
    );
  }
});
