import { type AgentRunner, defineTool } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, kinds, outcomes, takes } from "../runner/setting.ts";
import { report } from "./report-world.ts";

const again = { idempotent: true, retry: { attempts: 3, backoffSeconds: 1 } } as const;
const dispatched = (events: readonly { kind: string; attempt?: number }[]) =>
  events.flatMap(({ kind, attempt }) => (kind === "tool_dispatched" ? attempt : []));
const inFlight = (runner: AgentRunner) => runner.lanes().map((lane) => lane.inFlight + lane.waiting);

describe("Semantics 7.3, 7.5, 7.6: only what is declared harmless is tried again, and never beside its first attempt", () => {
  report(
    "C59: a side effect that timed out is not tried again, and the model is told that it may have landed",
    { starts: { send: 1 } },
    async (world) => {
      expect(() =>
        defineTool({ name: "send", description: "", input: { type: "object" }, retry: { attempts: 2 } }),
      ).toThrow(/idempotent/);
      const send = world.tool("send", takes(0.12, "sent"));
      const concurrency = { perToolSeconds: { send: 0.05 } };
      const runner = world.runner(new ScriptedProvider(calls({ id: "a", name: "send" }), say("ok")), [send], {
        concurrency,
      });
      const running = world.run(runner);
      await world.clock.advance(0.05);
      const run = await world.finish(running);
      const told = "send took longer than its ceiling of 0.05 s. The side effect may have landed.";
      expect(outcomes(run)).toEqual([`a error: ${told}`]);
      expect(run.results[0]).toMatchObject({ mayHaveLanded: true, error: { code: "TOOL_TIMED_OUT" } });
      expect(world.requests[1]?.messages.at(-1)).toMatchObject({ content: told, isError: true });
      await world.clock.advance(0.07);
      expect(kinds(world.heard, "a").at(-1)).toBe("tool_late_result");
    },
  );

  report(
    "C59: a lookup that throws twice is asked three times under one key, and has one verdict",
    { starts: { get: 3 } },
    async (world) => {
      const keys = new Set<string>();
      const get = world.tool(
        "get",
        (_, { attempt, idempotencyKey }) => {
          keys.add(idempotencyKey);
          if (attempt < 3) throw new Error(`attempt ${attempt}`);
          return "found";
        },
        again,
      );
      const running = world.run(world.runner(new ScriptedProvider(calls({ id: "b", name: "get" }), say("ok")), [get]));
      await world.clock.advance(3);
      const run = await world.finish(running);
      expect(outcomes(run)).toEqual(["b ok: found"]);
      expect([dispatched(run.events), keys.size]).toEqual([[1, 2, 3], 1]);
      expect(run.events.flatMap((event) => (event.kind === "tool_retried" ? event.detail : []))).toEqual([
        "attempt 1 of 3 failed: get failed: attempt 1",
        "attempt 2 of 3 failed: get failed: attempt 2",
      ]);
    },
  );

  report(
    "C59: a second attempt waits until the body of the first has ended, and so keeps to the tool's one place",
    { starts: { get: 2 } },
    async (world) => {
      const get = world.deaf("get", again);
      const concurrency = { perTool: { get: 1 }, perToolSeconds: { get: 0.05 } };
      const runner = world.runner(new ScriptedProvider(calls({ id: "c", name: "get" }), say("ok")), [get], {
        concurrency,
      });
      const running = world.run(runner);
      await world.clock.advance(20);
      expect(world.witness.starts("get")).toBe(1);
      world.gate.open("c", "of the first attempt");
      await world.clock.advance(1);
      await world.clock.promptly(world.gate.arrived("c", 2));
      world.gate.open("c", "of the second");
      const run = await world.finish(running);
      expect(outcomes(run)).toEqual(["c ok: of the second"]);
      expect(world.witness.peak("get")).toBe(1);
    },
  );

  report(
    "C59: a run that is stopped in a pause between attempts settles at once, and held no place meanwhile",
    { starts: { get: 1 } },
    async (world) => {
      const get = world.tool("get", () => Promise.reject(new Error("busy")), again);
      const runner = world.runner(new ScriptedProvider(calls({ id: "b", name: "get" })), [get], {
        concurrency: { perTool: { get: 1 }, perTenant: 1 },
      });
      const controller = new AbortController();
      const running = world.run(runner, agent("planner"), "Go.", { signal: controller.signal });
      await world.clock.advance(0.5);
      expect(inFlight(runner).every((count) => count === 0)).toBe(true);
      controller.abort();
      const run = await world.finish(running);
      expect(outcomes(run)).toEqual(["b error: stopped in flight: the run was cancelled. Safe to call again."]);
      await world.clock.advance(10);
    },
  );
});
