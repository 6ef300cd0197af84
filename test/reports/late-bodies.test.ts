import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, kinds, outcomes } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";
import { WAYS_TO_STOP } from "./ways-to-stop.ts";

/** A tool with a ceiling of 0.04 s whose bodies do not listen, and write, tell and log when they end. */
function deafWriter(world: ReportWorld, declared = {}) {
  return world.tool(
    "send",
    async (_, { attempt, callId, log, progress, state }) => {
      try {
        return await world.gate.wait(`${callId} ${attempt}`);
      } finally {
        state.set("sent", `${callId} ${attempt}`);
        progress(1);
        log("sent");
      }
    },
    declared,
  );
}
const ceiling = { concurrency: { perToolSeconds: { send: 0.04 } } };
const TOO_SLOW = "send took longer than its ceiling of 0.04 s";

/** How a body ends after its call's verdict, and how that is told. */
const LATE = [
  { late: "returns", end: ({ gate }: ReportWorld, label: string) => gate.open(label, "late") },
  { late: "throws", end: ({ gate }: ReportWorld, label: string) => gate.fail(label, new Error("late")) },
] as const;

const lateResults = ({ heard }: ReportWorld) =>
  heard.flatMap((event) => (event.kind === "tool_late_result" ? `${event.callId} ${event.detail}` : []));

describe("Semantics 2.3, 2.8, 7.2, 7.5, 8: what a body brings after its verdict changes nothing", () => {
  for (const { late, end } of LATE) {
    report(
      `C07: a body that ${late} late, while the model uses its call's id again, changes neither its own verdict nor the new call's`,
      { starts: { send: 2 } },
      async (world) => {
        const again = async () => {
          await world.gate.wait("model");
          return calls({ id: "a", name: "send" });
        };
        const provider = new ScriptedProvider(calls({ id: "a", name: "send" }), again, say("ok"));
        const runner = world.runner(provider, [deafWriter(world)], ceiling);
        const running = world.run(runner);
        await world.clock.advance(0.05);
        const [, shown] = world.requests;
        end(world, "a 1");
        await world.clock.settle();
        expect(kinds(world.heard, "a").slice(-2)).toEqual(["tool_error", "tool_late_result"]);
        world.gate.open("model", undefined);
        await world.clock.settle();
        world.gate.open("a_2 1", "second");
        const run = await world.finish(running);
        expect(outcomes(run)).toEqual([`a error: ${TOO_SLOW}. The side effect may have landed.`, "a_2 ok: second"]);
        expect(run.state).toEqual({ sent: "a_2 1" });
        expect(world.requests[2]?.messages.slice(0, 3)).toEqual(shown?.messages);
        expect(kinds(run.events, "a")).toEqual(["tool_requested", "tool_queued", "tool_dispatched", "tool_error"]);
        expect(lateResults(world)).toEqual([`a ${late === "returns" ? "returned" : "threw"} late`]);
      },
    );

    report(
      `C07: a body that ${late} late, after its run completed without it, finds the run as it settled`,
      { starts: { send: 1 } },
      async (world) => {
        const provider = new ScriptedProvider(calls({ id: "a", name: "send" }), say("ok"));
        const running = world.run(world.runner(provider, [deafWriter(world)], ceiling));
        await world.clock.advance(0.04);
        const run = await world.clock.promptly(running);
        const settled = JSON.stringify(run);
        expect(run.status).toBe("completed");
        end(world, "a 1");
        await world.clock.settle();
        expect(JSON.stringify(run)).toBe(settled);
        expect(lateResults(world)).toHaveLength(1);
      },
    );

    for (const way of WAYS_TO_STOP) {
      report(
        `C07: a body that ${late} late, after ${way.name} stopped its run, finds the run as it settled`,
        { starts: { send: 1 } },
        async (world) => {
          const provider = new ScriptedProvider(calls({ id: "a", name: "send" }));
          const runner = world.runner(provider, [deafWriter(world)], way.options);
          const { running, stop } = way.start(world, runner);
          await world.clock.promptly(world.gate.arrived("a 1"));
          await stop();
          const run = await world.clock.promptly(running);
          const settled = JSON.stringify(run);
          expect(run).toMatchObject({ ...way.ends, results: [{ status: "indeterminate", mayHaveLanded: true }] });
          end(world, "a 1");
          await world.clock.settle();
          expect(JSON.stringify(run)).toBe(settled);
          expect(lateResults(world)).toHaveLength(1);
        },
      );
    }

    report(
      `C07: a first attempt that ${late} late is not mixed up with the second`,
      { starts: { send: 2 } },
      async (world) => {
        const declared = { idempotent: true, retry: { attempts: 2, backoffSeconds: 0 }, abandonSeconds: 0.01 };
        const provider = new ScriptedProvider(calls({ id: "a", name: "send" }), say("ok"));
        const runner = world.runner(provider, [deafWriter(world, declared)], ceiling);
        const running = world.run(runner);
        await world.clock.advance(0.06);
        end(world, "a 1");
        await world.clock.settle();
        world.gate.open("a 2", "second");
        const run = await world.finish(running);
        expect(outcomes(run)).toEqual(["a ok: second"]);
        expect(run.state).toEqual({ sent: "a 2" });
      },
    );
  }

  report(
    "C07: what a body left running when it ended writes, tells and starts nothing more, while a sibling is in flight",
    { starts: { send: 1, wait: 1 } },
    async (world) => {
      const refused: unknown[] = [];
      const send = world.tool("send", (_, { clock, log, progress, run, state }) => {
        state.set("sent", "in time");
        clock.setTimer(10, () => {
          state.set("sent", "late");
          progress(1);
          log("late");
          run(agent("planner"), "Go.").catch(({ code }) => refused.push(code));
        });
      });
      const asked = calls({ id: "a", name: "send" }, { id: "b", name: "wait" });
      const runner = world.runner(new ScriptedProvider(asked, say("ok")), [send, world.deaf("wait")]);
      const running = world.run(runner);
      await world.clock.advance(0.01);
      const run = await world.finish(running);
      expect([run.state, refused]).toEqual([{ sent: "in time" }, ["CONFIGURATION"]]);
      const told = kinds(world.heard, "a");
      expect(told.slice(-2)).toEqual(["tool_completed", "tool_result"]);
    },
  );
});
