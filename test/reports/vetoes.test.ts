import type { Decision, GateCall, RunnerOptions } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, errorOf, kinds, outcomes } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

const IDS = ["a", "b", "c"];
const asked = calls(...IDS.map((id) => ({ id, name: "work" })));

/** A gate that takes 0.08 s over the first call, 0.005 s over others, and does `veto` to the second; `order` is what it did. */
function slowGate({ clock }: ReportWorld, veto: () => unknown) {
  const order: string[] = [];
  const gate = async ({ id }: Pick<GateCall, "id">): Promise<never> => {
    order.push(`${id} asked`);
    await new Promise<void>((resolve) => void clock.setTimer(id === "a" ? 80 : 5, resolve));
    order.push(`${id} answered`);
    return (id === "b" ? veto() : undefined) as never;
  };
  return { gate, order };
}

const UNTIL_B = ["a asked", "a answered", "b asked", "b answered"];
const TO_THE_END = [...UNTIL_B, "c asked", "c answered"];

/** The same gate as a hook, a guardrail, or a person, who says yes where the others say nothing. */
const AS: Readonly<Record<string, (gate: ReturnType<typeof slowGate>["gate"]) => RunnerOptions>> = {
  hook: (beforeTool) => ({ hooks: [{ name: "h", beforeTool }] }),
  guardrail: (before) => ({ guardrails: [{ name: "g", before }] }),
  approver: (gate) => ({
    approver: async ({ callId: id }) => ((await gate({ id })) as Decision | undefined) ?? { approve: true },
  }),
};

/** What a gate does to the second call, and what that call is told. */
const VETOES = [
  {
    veto: "refuses",
    of: ["hook", "guardrail"],
    answer: () => ({ refuse: "no" }),
    told: /^b never_dispatched: .*denied: no$/,
  },
  {
    veto: "refuses",
    of: ["approver"],
    answer: () => ({ approve: false }),
    told: /^b never_dispatched: .*denied: no reason/,
  },
  {
    veto: "throws at",
    of: ["hook", "guardrail", "approver"],
    answer: fail,
    told: /^b never_dispatched: .* failed: broken$/,
  },
  {
    veto: "answers nonsense to",
    of: ["hook", "guardrail", "approver"],
    answer: () => true,
    told: /^b never_dispatched: .* got true$/,
  },
] as const;

function fail(): never {
  throw new Error("broken");
}

describe("Semantics 3.1, 3.3, 3.9, 3.10: a veto counts against its call, and one of a run leaves none to start", () => {
  for (const { veto, of, answer, told } of VETOES) {
    for (const kind of of) {
      report(
        `C32: a ${kind} that ${veto} one call is asked in call order, and leaves the siblings to run`,
        { starts: { work: 2 } },
        async (world) => {
          const { gate, order } = slowGate(world, answer);
          const work = world.tool("work", () => void order.push("body"), { requiresApproval: kind === "approver" });
          const provider = new ScriptedProvider(asked, say("ok"));
          const running = world.run(world.runner(provider, [work], AS[kind]?.(gate)));
          await world.clock.advance(0.09);
          const run = await world.finish(running);
          expect(order).toEqual([...TO_THE_END, "body", "body"]);
          expect(outcomes(run)).toEqual(["a ok: ", expect.stringMatching(told), "c ok: "]);
          expect(run.results[1]?.mayHaveLanded).toBe(false);
        },
      );
    }
  }

  report(
    "C32: a guardrail that ends the run is asked after the first call was let through, and nothing starts",
    { starts: {} },
    async (world) => {
      const { gate, order } = slowGate(world, () => ({ endRun: "not here" }));
      const runner = world.runner(
        new ScriptedProvider(asked),
        [world.tool("work", () => "done")],
        AS.guardrail?.(gate),
      );
      const running = world.run(runner);
      await world.clock.advance(0.085);
      const run = await world.finish(running);
      const told = world.heard.length;
      await world.clock.advance(1);
      expect(world.heard).toHaveLength(told);
      expect(order).toEqual(UNTIL_B);
      expect(errorOf(run).code).toBe("GUARDRAIL_VIOLATION");
      expect(run.results.map(({ status }) => status)).toEqual(IDS.map(() => "never_dispatched"));
    },
  );

  report(
    "C32: under fail_run a hook that throws at one call ends the run before any body starts",
    { starts: {} },
    async (world) => {
      const { gate, order } = slowGate(world, fail);
      const runner = world.runner(new ScriptedProvider(asked), [world.tool("work", () => "done")], AS.hook?.(gate));
      const running = world.run(runner, agent("planner", { onToolError: "fail_run" }));
      await world.clock.advance(0.085);
      const run = await world.finish(running);
      expect(order).toEqual(UNTIL_B);
      expect(errorOf(run).message).toBe('hook "h" failed: broken');
      expect(run.results.map(({ status }) => status)).toEqual(IDS.map(() => "never_dispatched"));
    },
  );

  report(
    "C32: a call that waits for somebody outside is answered when a guardrail ends the run at its sibling",
    { starts: {} },
    async (world) => {
      const guardrail = { name: "g", before: ({ id }: GateCall) => (id === "b" ? { endRun: "not here" } : undefined) };
      const work = world.tool("work", () => "done", { requiresApproval: true });
      const run = await world.finish(
        world.run(world.runner(new ScriptedProvider(asked), [work], { guardrails: [guardrail] })),
      );
      expect(run.status).toBe("failed");
      expect(outcomes(run)).toEqual(
        IDS.map((id) => `${id} never_dispatched: never dispatched: guardrail "g": not here`),
      );
    },
  );

  for (const [what, kind, veto, onToolError] of [
    ["a guardrail ends the run at", "guardrail", () => ({ endRun: "not here" }), "surface_to_model"],
    ["under fail_run a hook throws at", "hook", fail, "fail_run"],
  ] as const) {
    report(
      `C32: with eager dispatch a call is in flight when ${what} its sibling: it is told to stop, and none follows it`,
      { starts: { work: 1 } },
      async (world) => {
        const { gate, order } = slowGate(world, veto);
        const told: AbortSignal[] = [];
        const work = world.tool("work", (_, { callId, signal }) => {
          told.push(signal);
          return world.gate.wait(callId);
        });
        const options = { ...AS[kind]?.(gate), dispatch: "eager" } as const;
        const runner = world.runner(new ScriptedProvider(asked), [work], options);
        const running = world.run(runner, agent("planner", { onToolError }));
        await world.clock.advance(0.08);
        expect([world.gate.waiting, told.map(({ aborted }) => aborted)]).toEqual([["a"], [false]]);
        await world.clock.advance(0.005);
        const run = await world.clock.promptly(running);
        expect([order, told.map(({ aborted }) => aborted)]).toEqual([UNTIL_B, [true]]);
        expect(run.results.map(({ status }) => status)).toEqual([
          "indeterminate",
          "never_dispatched",
          "never_dispatched",
        ]);
        world.gate.open("a", "late");
        await world.clock.advance(1);
        expect(kinds(world.heard).slice(-2)).toEqual(["run_failed", "tool_late_result"]);
      },
    );
  }
});
