import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { kinds, outcomes } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";
import { WAYS_TO_STOP, type WayToStop } from "./ways-to-stop.ts";

/** The bodies of `quick` end at once, those of `deaf` never, unless they are asked to end. */
function tools(world: ReportWorld, idempotent: boolean) {
  const deaf = ({ ends }: Record<string, unknown>) => (ends === true ? "done" : new Promise(() => {}));
  return [world.tool("quick", () => "kept"), world.tool("deaf", deaf, { idempotent, abandonSeconds: 100 })];
}
const onePlace = { perTool: { deaf: 1 } };

const PHASE_PASSED = "deadlines.toolCallSeconds: a turn's tool phase took longer than 5 s";
const WAYS: readonly WayToStop[] = [
  ...WAYS_TO_STOP,
  {
    name: "the deadline of the tool phase",
    options: { deadlines: { toolCallSeconds: 5 } },
    why: PHASE_PASSED,
    ends: { status: "failed", error: { code: "DEADLINE_EXCEEDED", message: PHASE_PASSED } },
    start: (world, runner) => ({ running: world.run(runner), stop: () => world.clock.advance(5) }),
  },
];

/** One call, or one among others. */
const BATCHES = [
  { what: "alone", asked: calls({ id: "b", name: "deaf" }), starts: { deaf: 1 } },
  {
    what: "among siblings",
    asked: calls({ id: "a", name: "quick" }, { id: "b", name: "deaf" }, { id: "c", name: "deaf" }),
    starts: { quick: 1, deaf: 1 },
  },
] as const;

describe("Semantics 2.4, 4.8, 8: a run never waits for a body that does not end", () => {
  for (const way of WAYS) {
    for (const { what, asked, starts } of BATCHES) {
      for (const idempotent of [false, true]) {
        const declared = idempotent ? "an idempotent" : "a";
        report(
          `C43: ${way.name} settles a run with ${declared} call ${what} that never ends, at once and truly`,
          { starts },
          async (world) => {
            const provider = new ScriptedProvider(asked);
            const runner = world.runner(provider, tools(world, idempotent), { ...way.options, concurrency: onePlace });
            const { running, stop } = way.start(world, runner);
            await world.clock.settle();
            await stop();
            const run = await world.clock.promptly(running);
            const end = idempotent ? "error" : "indeterminate";
            const advice = idempotent ? "Safe to call again." : "The side effect may have landed.";
            const told = [
              "a ok: kept",
              `b ${end}: stopped in flight: ${way.why}. ${advice}`,
              `c never_dispatched: never dispatched: ${way.why}`,
            ];
            expect(run).toMatchObject(way.ends);
            expect(outcomes(run)).toEqual(what === "alone" ? [told[1]] : told);
            const lane = () => runner.lanes().find((one) => one.lane === "tool:deaf");
            expect(lane()).toMatchObject({ inFlight: 1, waiting: 0, abandoned: 0, holders: [{ callId: "b" }] });
            await world.clock.advance(100);
            expect(lane()).toMatchObject({ inFlight: 0, abandoned: 1 });
            expect(kinds(world.heard, "b").at(-1)).toBe("tool_abandoned");
          },
        );
      }
    }
  }

  report(
    "C43: past a tool's ceiling the call has failed at once, and the next in its lane goes out when the body is abandoned",
    { starts: { quick: 1, deaf: 2 } },
    async (world) => {
      const asked = calls(
        { id: "a", name: "quick" },
        { id: "b", name: "deaf" },
        { id: "c", name: "deaf", args: { ends: true } },
      );
      const concurrency = { ...onePlace, perToolSeconds: { deaf: 5 } };
      const runner = world.runner(new ScriptedProvider(asked, say("ok")), tools(world, false), { concurrency });
      const running = world.run(runner);
      await world.clock.advance(5);
      expect(kinds(world.heard, "b").at(-1)).toBe("tool_error");
      await world.clock.advance(99.9);
      expect(world.witness.starts("deaf")).toBe(1);
      await world.clock.advance(0.1);
      expect(outcomes(await world.finish(running))).toEqual([
        "a ok: kept",
        "b error: deaf took longer than its ceiling of 5 s. The side effect may have landed.",
        "c ok: done",
      ]);
    },
  );
});
