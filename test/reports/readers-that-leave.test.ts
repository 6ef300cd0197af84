import type { ModelCall, PendingCall, RunEvent, RunEventKind, RunStream } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, errorOf, kinds } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

/** `quick` ends at once and `slow` is told to stop; `later` asks for it in a phase of its own. */
function tools(world: ReportWorld) {
  const parallelSafe = (args: unknown) => (args as { later?: boolean }).later !== true;
  return [world.tool("quick", () => "done"), world.listening("slow", { parallelSafe })];
}
const asked = (later = false) =>
  calls(
    { id: "a", name: "quick" },
    { id: "b", name: "slow", args: { later } },
    { id: "c", name: "slow", args: { later: true } },
  );
const LEFT = { code: "CANCELLED", message: "the run was cancelled: its stream was left" };

/** Starts a run as a stream, and sees to its end being checked. */
function stream(world: ReportWorld, runner: ReturnType<ReportWorld["runner"]>): RunStream {
  const started = runner.stream(agent("planner"), "Go.");
  void world.keep(started.run);
  return started;
}

async function readUntil(events: AsyncIterable<RunEvent>, kind: RunEventKind, leave: () => void): Promise<void> {
  for await (const event of events) {
    if (event.kind !== kind) continue;
    leave();
    break;
  }
}

/** Where a reader leaves, whether `b` waits for a phase of its own, and which bodies have started by then. */
const LEAVES: readonly [RunEventKind, boolean, Record<string, number>][] = [
  ["model_responded", false, {}],
  ["tool_requested", false, {}],
  ["tool_queued", false, {}],
  ["tool_dispatched", false, { quick: 1, slow: 1 }],
  ["tool_completed", false, { quick: 1, slow: 1 }],
  ["tool_result", true, { quick: 1, slow: 1 }],
];

describe("Semantics 2.3, 8: leaving a stream cancels its run and nothing else, and a slow reader delays nobody", () => {
  for (const how of ["breaks off", "throws"]) {
    for (const [kind, later, starts] of LEAVES) {
      const title = `C58: a reader who ${how} at ${kind} cancels the run, and goes on once it has settled`;
      report(title, { starts }, async (world) => {
        const started = stream(world, world.runner(new ScriptedProvider(asked(later)), tools(world)));
        // The run is as far as it comes by itself before anything is read.
        if (Object.keys(starts).length > 0) await world.clock.promptly(world.gate.arrived("b"));
        const reading = readUntil(started, kind, () => {
          if (how === "throws") throw new Error("the reader's own");
        });
        const thrown = await world.clock.promptly(
          reading.then(
            () => undefined,
            ({ message }: Error) => message,
          ),
        );
        expect(thrown).toBe(how === "throws" ? "the reader's own" : undefined);
        const run = await world.clock.promptly(started.run);
        expect(errorOf(run)).toMatchObject(LEFT);
        expect(run.results).toHaveLength(3);
        expect(() => started[Symbol.asyncIterator]()).toThrow(/one reader/);
      });
    }
  }

  for (const kind of ["run_started", "model_requested"] as const) {
    report(`C58: a reader who leaves at ${kind} ends the request to the model`, { starts: {} }, async (world) => {
      const told: AbortSignal[] = [];
      const model = (_: unknown, { signal }: ModelCall) => {
        told.push(signal);
        return world.gate.wait("model") as Promise<never>;
      };
      const started = stream(world, world.runner(new ScriptedProvider(model), tools(world)));
      await world.clock.promptly(readUntil(started, kind, () => {}));
      expect(told.map(({ aborted }) => aborted)).toEqual([true]);
      expect(errorOf(await world.finish(started.run))).toMatchObject(LEFT);
    });
  }

  report(
    "C58: a reader who leaves while a person is asked closes the prompt, with another event asked for",
    { starts: {} },
    async (world) => {
      const prompts: AbortSignal[] = [];
      const approver = (_: PendingCall, { signal }: { signal: AbortSignal }) => {
        prompts.push(signal);
        return world.gate.wait("person") as Promise<never>;
      };
      const pay = world.tool("pay", () => "paid", { requiresApproval: true });
      const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }, { id: "b", name: "pay" }));
      const started = stream(world, world.runner(provider, [pay], { approver }));
      const reader = started[Symbol.asyncIterator]();
      await world.clock.promptly(world.gate.arrived("person"));
      for (let read = 0; read < world.heard.length; read++) await reader.next();
      const next = reader.next();
      const left = reader.return?.();
      expect(await world.clock.promptly(next)).toEqual({ done: true, value: undefined });
      expect(await world.clock.promptly(Promise.resolve(left))).toEqual({ done: true, value: undefined });
      expect(errorOf(await started.run)).toMatchObject(LEFT);
      world.gate.openAll({ approve: true });
      await world.clock.settle();
      expect(prompts.map(({ aborted }) => aborted)).toEqual([true]);
    },
  );

  report(
    "C58: a stream that nobody reads is a run like any other, and a second reader is refused and ends nothing",
    { starts: { quick: 2 } },
    async (world) => {
      const one = () => calls({ id: "a", name: "quick" });
      const runner = world.runner(new ScriptedProvider(one, one, say("ok"), say("ok")), tools(world));
      const unread = stream(world, runner);
      const read = stream(world, runner);
      const reader = read[Symbol.asyncIterator]();
      expect(() => read[Symbol.asyncIterator]()).toThrow(/expected one reader, got a second/);
      expect((await world.finish(unread.run)).status).toBe("completed");
      expect((await world.finish(read.run)).status).toBe("completed");
      const seen: RunEvent[] = [];
      for (let step = await reader.next(); step.done !== true; step = await reader.next()) seen.push(step.value);
      expect(kinds(seen).at(-1)).toBe("run_completed");
    },
  );

  report(
    "C58: a reader who takes a second over each event gets them all, and the run of 200 calls does not wait",
    { starts: { quick: 200 } },
    async (world) => {
      const many = calls(...Array.from({ length: 200 }, (_, n) => ({ id: `c${n}`, name: "quick" })));
      const runner = world.runner(new ScriptedProvider(many, say("ok")), tools(world), {
        limits: { maxCallsPerTurn: 200 },
      });
      const started = stream(world, runner);
      const seen: RunEvent[] = [];
      const reading = (async () => {
        for await (const event of started) {
          seen.push(event);
          await new Promise<void>((resolve) => void world.clock.setTimer(1_000, resolve));
        }
      })();
      expect((await world.finish(started.run)).status).toBe("completed");
      expect(seen).toHaveLength(1);
      await world.clock.advance(world.heard.length);
      await world.clock.promptly(reading);
      expect(seen).toEqual(world.heard);
    },
  );
});
