import type { ConcurrencyOptions, RunEvent, ToolOptions } from "lanekeeper";
import { calls } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { takes } from "../runner/setting.ts";
import { answering, type ReportWorld, report } from "./report-world.ts";

const three = answering(() => calls({ work: {} }, { work: {} }, { work: {} }));

/** When events of these kinds came, in seconds from the start. */
function times({ heard }: ReportWorld, ...wanted: RunEvent["kind"][]): string[] {
  const start = heard[0]?.at ?? 0;
  return heard.filter(({ kind }) => wanted.includes(kind)).map(({ kind, at }) => `${(at - start) / 1_000} ${kind}`);
}

describe("Semantics 4.8, 7.2, 7.3: a body that outlives its ceiling keeps its place, or loses it in plain sight", () => {
  const ONE: Record<string, { concurrency?: ConcurrencyOptions; declared?: Partial<ToolOptions> }> = {
    "a tool with one place": { concurrency: { perTool: { work: 1 } } },
    "a tool with one place, written out": { concurrency: { perTool: { work: { inFlight: 1 } } } },
    "a tool of a resource with one place": {
      concurrency: { perResource: { disk: 1 } },
      declared: { resource: "disk" },
    },
    "a tool that must run alone": { declared: { parallelSafe: false } },
    "an idempotent tool with one place": { concurrency: { perTool: { work: 1 } }, declared: { idempotent: true } },
  };
  for (const [what, { concurrency, declared = {} }] of Object.entries(ONE)) {
    report(
      `C08: the next call of ${what} starts when the body before it has ended, and not at its ceiling`,
      { starts: { work: 3 } },
      async (world) => {
        const work = world.tool("work", takes(50), declared);
        const runner = world.runner(three, [work], { concurrency: { ...concurrency, perToolSeconds: { work: 5 } } });
        const running = world.run(runner);
        await world.clock.advance(105);
        const run = await world.clock.promptly(running);
        expect(world.witness.peak("work")).toBe(1);
        const landed = declared.idempotent !== true;
        expect(run.results).toMatchObject(
          Array(3).fill({ status: "error", error: { code: "TOOL_TIMED_OUT" }, mayHaveLanded: landed }),
        );
        expect(times(world, "tool_dispatched", "tool_error", "tool_abandoned")).toEqual([
          "0 tool_dispatched",
          "5 tool_error",
          "50 tool_dispatched",
          "55 tool_error",
          "100 tool_dispatched",
          "105 tool_error",
        ]);
        const settled = structuredClone(run.messages);
        await world.clock.advance(100);
        expect(times(world, "tool_late_result")).toEqual([
          "50 tool_late_result",
          "100 tool_late_result",
          "150 tool_late_result",
        ]);
        expect(run.messages).toEqual(settled);
      },
    );
  }

  report(
    "C08: a place that goes back while its body lives on is told as it goes, and the gauge tells how many there are",
    { starts: { work: 3 } },
    async (world) => {
      const work = world.tool("work", takes(50));
      const runner = world.runner(three, [work], {
        concurrency: { perTool: { work: 2 }, perToolSeconds: { work: 5 }, abandonSeconds: 10 },
      });
      const running = world.run(runner);
      await world.clock.advance(15);
      const [lane] = runner.lanes().filter((one) => one.lane === "tool:work");
      expect(lane).toMatchObject({ inFlight: 1, waiting: 0, abandoned: 2 });
      expect(world.witness.inFlight("work")).toBe(3);
      await world.clock.advance(5);
      const run = await world.clock.promptly(running);
      expect(run.results.map(({ status }) => status)).toEqual(["error", "error", "error"]);
      expect(times(world, "tool_dispatched", "tool_abandoned")).toEqual([
        "0 tool_dispatched",
        "0 tool_dispatched",
        "15 tool_abandoned",
        "15 tool_dispatched",
        "15 tool_abandoned",
      ]);
      await world.clock.advance(100);
      expect(times(world, "tool_late_result")).toEqual([
        "50 tool_late_result",
        "50 tool_late_result",
        "65 tool_late_result",
      ]);
    },
  );
});
