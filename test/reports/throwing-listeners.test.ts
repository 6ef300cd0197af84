import type { RunEvent } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, kinds, outcomes } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

const asked = calls(...["a", "b", "c"].map((id) => ({ id, name: "work" })));

function setUp(world: ReportWorld, options = {}) {
  const work = world.tool("work", (_, { callId }) => {
    if (callId === "b") throw new Error("broken");
    return "done";
  });
  return world.runner(new ScriptedProvider(asked, say("ok")), [work], options);
}

const mine = (event: RunEvent) => new Error(`about ${event.seq}`);
const isEndOfA = (event: RunEvent) => event.kind === "tool_completed" && event.callId === "a";

/** How a listener fails, and about which events. */
const FAULTS: readonly { what: string; about: (event: RunEvent) => boolean; fail: (event: RunEvent) => void }[] = [
  { what: "throws at every event", about: () => true, fail: (event) => fail(mine(event)) },
  { what: "rejects at every event", about: () => true, fail: (event) => Promise.reject(mine(event)) },
  { what: "throws at the end of a's body", about: isEndOfA, fail: (event) => fail(mine(event)) },
  { what: "rejects at the end of a's body", about: isEndOfA, fail: (event) => Promise.reject(mine(event)) },
];

function fail(error: Error): never {
  throw error;
}

describe("Semantics 2.3, 2.12: a listener that fails loses nothing, starves nobody and is told of once", () => {
  for (const { what, about, fail: failing } of FAULTS) {
    for (const whose of ["runner", "run"]) {
      report(
        `C62: a listener of the ${whose} that ${what} leaves the run and the other listener whole`,
        { starts: { work: 3 } },
        async (world) => {
          const recorded: RunEvent[] = [];
          const record = (event: RunEvent) => void recorded.push(event);
          const faulty = (event: RunEvent): void => (about(event) ? failing(event) : undefined);
          const [ofRunner, ofRun] = whose === "runner" ? [faulty, record] : [record, faulty];
          const run = await world.finish(
            world.run(setUp(world, { onEvent: ofRunner }), agent("planner"), "Go.", { onEvent: ofRun }),
          );
          expect(outcomes(run)).toEqual(["a ok: done", "b error: work failed: broken", "c ok: done"]);
          expect(recorded).toEqual(world.heard);
          expect(recorded.map(({ seq }) => seq)).toEqual(recorded.map((_, at) => at));
          for (const id of ["a", "b", "c"]) {
            const verdict = id === "b" ? "tool_error" : "tool_result";
            expect(kinds(recorded, id)).toEqual([
              "tool_requested",
              "tool_queued",
              "tool_dispatched",
              "tool_completed",
              verdict,
            ]);
          }
          expect(world.reported.splice(0)).toEqual(recorded.filter(about).map(mine));
        },
      );
    }
  }

  report(
    "C62: where the failures are told fails as well, and the run is whole all the same",
    { starts: { work: 3 } },
    async (world) => {
      const onEvent = (event: RunEvent) => fail(mine(event));
      const onError = (error: unknown) => fail(error as Error);
      expect((await world.finish(world.run(setUp(world, { onEvent, onError })))).status).toBe("completed");
    },
  );

  for (const kind of ["tool_requested", "tool_dispatched", "tool_completed", "tool_result"] as const) {
    const starts = kind === "tool_requested" ? {} : { work: kind === "tool_dispatched" ? 1 : 3 };
    report(`C62: a listener that stops the run at ${kind} keeps nothing from another`, { starts }, async (world) => {
      const controller = new AbortController();
      const recorded: RunEvent[] = [];
      const onEvent = (event: RunEvent) => {
        if (event.kind === kind) controller.abort();
      };
      const work = world.tool("work", () => "done");
      const runner = world.runner(new ScriptedProvider(asked), [work], { onEvent });
      const record = (event: RunEvent) => void recorded.push(event);
      const options = { signal: controller.signal, onEvent: record };
      const run = await world.finish(world.run(runner, agent("planner"), "Go.", options));
      expect(run.status).toBe("cancelled");
      const inOrder = recorded.map(({ seq }) => seq).sort((a, b) => a - b);
      expect(inOrder).toEqual(world.heard.map((_, at) => at));
      expect(kinds(run.events).at(-1)).toBe("run_cancelled");
    });
  }
});
