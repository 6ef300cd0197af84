import type { GateCall, ModelResponse, RunnerOptions, ToolOptions } from "lanekeeper";
import { calls, Deferred, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, errorOf, kinds, outcomes } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

const IDS = ["a", "b", "c"];
const asked = calls(...IDS.map((id) => ({ id, name: "work" })));
const NEVER = "never_dispatched: never dispatched: the run was cancelled";
const STOPPED = "stopped in flight: the run was cancelled. The side effect may have landed.";

/** A run whose `stop` cancels it. */
function cancellable(world: ReportWorld, runner: ReturnType<ReportWorld["runner"]>, tenant?: string) {
  const controller = new AbortController();
  const { signal } = controller;
  const running = world.run(runner, agent("planner"), "Go.", { signal, ...(tenant === undefined ? {} : { tenant }) });
  return { running, signal, stop: (reason: unknown = new Error("enough")) => controller.abort(reason) };
}

/** What stops the run where `at` is asked about the second of three calls. */
type Gated = (at: (id: string) => void) => { runner?: RunnerOptions; declared?: Partial<ToolOptions> };
const GATES: Readonly<Record<string, Gated>> = {
  hook: (at) => ({ runner: { hooks: [{ name: "h", beforeTool: async ({ id }: GateCall) => at(id) }] } }),
  guardrail: (at) => ({ runner: { guardrails: [{ name: "g", before: ({ id }: GateCall) => at(id) }] } }),
  approver: (at) => ({
    declared: { requiresApproval: true },
    runner: {
      approver: ({ callId }) => {
        at(callId);
        return { approve: true };
      },
    },
  }),
  "approval predicate": (at) => ({
    declared: {
      requiresApproval: (args) => {
        at((args as { id: string }).id);
        return false;
      },
    },
  }),
  "predicate of parallelSafe": (at) => ({
    declared: {
      parallelSafe: (args) => {
        at((args as { id: string }).id);
        return true;
      },
    },
  }),
};

describe("Semantics 2.4, 3.8, 4.10, 8: what was stopped before it started does not start", () => {
  report(
    "C31: asked for with an aborted signal while the places are full, a run asks no model and settles at once",
    { starts: { work: 1 } },
    async (world) => {
      const provider = new ScriptedProvider(calls({ id: "a", name: "work" }), say("ok"));
      const runner = world.runner(provider, [world.deaf("work")], { concurrency: { perTool: { work: 1 } } });
      const other = world.run(runner);
      await world.clock.promptly(world.gate.arrived("a"));
      const signal = AbortSignal.abort(new Error("before"));
      const run = await world.clock.promptly(world.run(runner, agent("planner"), "Go.", { signal }));
      expect(errorOf(run)).toMatchObject({ code: "CANCELLED", cause: { message: "before" } });
      expect(kinds(run.events)).toEqual(["run_started", "run_cancelled"]);
      expect(world.requests).toHaveLength(1);
      expect((await world.finish(other)).status).toBe("completed");
    },
  );

  report(
    "C31: calls that were cancelled in a queue have used up neither its room nor its starts",
    { starts: { work: 2 } },
    async (world) => {
      const one = (id: string) => calls({ id, name: "work" });
      const provider = new ScriptedProvider(one("a"), one("b"), one("c"), say("ok"), say("ok"));
      const bound = { inFlight: 1, starts: { count: 2, perSeconds: 60 } };
      const concurrency = { perTool: { work: bound }, maxWaiting: 1 };
      const runner = world.runner(provider, [world.deaf("work")], { concurrency });
      const first = world.run(runner);
      await world.clock.promptly(world.gate.arrived("a"));
      const second = cancellable(world, runner);
      await world.clock.settle();
      second.stop();
      expect(outcomes(await world.clock.promptly(second.running))).toEqual([`b ${NEVER}`]);
      const third = world.run(runner);
      await world.clock.settle();
      world.gate.open("a", "done");
      await world.clock.promptly(world.gate.arrived("c"));
      expect([await world.finish(first), await world.finish(third)].flatMap(outcomes)).toEqual([
        "a ok: done",
        "c ok: done",
      ]);
    },
  );

  report(
    "C31: stopped while its model is asked, a run waits for no model, and runs nothing of what that answers later",
    { starts: {} },
    async (world) => {
      const answer = new Deferred<ModelResponse>();
      const told: AbortSignal[] = [];
      const provider = {
        name: "deaf",
        generate: (_: unknown, { signal }: { signal: AbortSignal }) => {
          told.push(signal);
          return answer.promise;
        },
      };
      const { running, stop } = cancellable(world, world.runner(provider, [world.tool("work", () => "done")]));
      await world.clock.settle();
      stop();
      expect(told.map(({ aborted }) => aborted)).toEqual([true]);
      const run = await world.clock.promptly(running);
      answer.resolve(asked);
      await world.clock.settle();
      expect([run.status, run.results, run.messages.length]).toEqual(["cancelled", [], 1]);
    },
  );

  for (const order of ["before the answer", "behind the answer", "by whoever is told of the answer"]) {
    report(`C31: stopped in one tick ${order} of its model, no body starts`, { starts: {} }, async (world) => {
      const answer = new Deferred<ModelResponse>();
      const provider = { name: "slow", generate: () => answer.promise };
      const onEvent = ({ kind }: { kind: string }) => {
        if (kind === "model_responded" && order.startsWith("by")) stop();
      };
      const runner = world.runner(provider, [world.tool("work", () => "done")], { onEvent });
      const { running, stop } = cancellable(world, runner);
      await world.clock.settle();
      if (order.startsWith("before")) stop();
      answer.resolve(asked);
      if (order.startsWith("behind")) stop();
      expect((await world.clock.promptly(running)).status).toBe("cancelled");
    });
  }

  for (const [gate, make] of Object.entries(GATES)) {
    report(
      `C31: stopped in the ${gate} of the second call, no later one is asked and no body starts`,
      { starts: {} },
      async (world) => {
        const seen: string[] = [];
        const { runner: options = {}, declared = {} } = make((id) => {
          seen.push(id);
          if (id === "b") stop();
        });
        const work = world.tool("work", () => "done", declared);
        const provider = new ScriptedProvider(calls(...IDS.map((id) => ({ id, name: "work", args: { id } }))));
        const { running, stop } = cancellable(world, world.runner(provider, [work], options));
        expect(outcomes(await world.clock.promptly(running))).toEqual(IDS.map((id) => `${id} ${NEVER}`));
        expect(seen).toEqual(["a", "b"]);
      },
    );
  }

  for (const [places, inFlight] of [
    [1, 1],
    [8, 1],
  ] as const) {
    // Stopped before its own end, the body is one that was in flight (`Semantics 8`), whatever it returns.
    report(
      `C31: stopped by the first body in its first step, with ${places} places free, no sibling starts`,
      { starts: { work: inFlight } },
      async (world) => {
        const work = world.tool("work", () => {
          stop();
          return "done";
        });
        const concurrency = { maxConcurrentTools: places };
        const { running, stop } = cancellable(
          world,
          world.runner(new ScriptedProvider(asked), [work], { concurrency }),
        );
        expect(outcomes(await world.clock.promptly(running))).toEqual([
          `a indeterminate: ${STOPPED}`,
          `b ${NEVER}`,
          `c ${NEVER}`,
        ]);
      },
    );
  }

  report(
    "C31: what listeners of the abort start is not started: neither a run with that signal nor one below the stopped call",
    { starts: { work: 1 } },
    async (world) => {
      const below: Promise<unknown>[] = [];
      const work = world.tool("work", (_, ctx) => {
        ctx.signal.addEventListener("abort", () => {
          const refused = ctx.run(agent("planner"), "Go.");
          below.push(refused.catch(({ code }: { code: string }) => code));
        });
        return world.gate.wait("a");
      });
      const runner = world.runner(new ScriptedProvider(calls({ id: "a", name: "work" })), [work]);
      const { running, signal, stop } = cancellable(world, runner);
      const again: Promise<{ status: string }>[] = [];
      signal.addEventListener("abort", () => again.push(world.run(runner, agent("planner"), "Go.", { signal })), {
        once: true,
      });
      await world.clock.promptly(world.gate.arrived("a"));
      stop();
      expect((await world.finish(running)).status).toBe("cancelled");
      expect(await Promise.all(again)).toMatchObject([{ status: "cancelled" }]);
      expect(await Promise.all(below)).toEqual(["CONFIGURATION"]);
      expect(world.requests).toHaveLength(1);
    },
  );

  for (const [first, second] of [
    ["signal", "deadline"],
    ["deadline", "signal"],
    ["signal", "signal"],
    ["signal", "runner"],
  ] as const) {
    report(
      `C31: of two reasons to stop, here ${first} and then ${second}, the first is the run's and its calls'`,
      { starts: { work: 1 } },
      async (world) => {
        const ways = {
          signal: async () => stop(new Error("by its signal")),
          deadline: () => world.clock.advance(1),
          runner: () => runner.close({ drainSeconds: 0 }),
        };
        // The second comes while the first is being told of.
        const onEvent = ({ kind }: { kind: string }) => {
          if (kind === "tool_indeterminate") void ways[second]();
        };
        const provider = new ScriptedProvider(calls({ id: "a", name: "work" }));
        const options = { onEvent, deadlines: { runSeconds: 1 } };
        const runner = world.runner(provider, [world.deaf("work")], options);
        const { running, stop } = cancellable(world, runner);
        await world.clock.promptly(world.gate.arrived("a"));
        await ways[first]();
        const run = await world.finish(running);
        const expected =
          first === "deadline"
            ? { code: "DEADLINE_EXCEEDED" }
            : { message: "the run was cancelled by its signal", cause: { message: "by its signal" } };
        expect(errorOf(run)).toMatchObject(expected);
        expect(run.results[0]?.error?.cause).toBe(errorOf(run));
      },
    );
  }
});
