import type { Approver, Guardrail, Hook } from "lanekeeper";
import { calls, Deferred, Gate, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, outcomes, setUp, tool } from "./setting.ts";
import { ends, StreamingModel, streamed } from "./streaming.ts";

const EAGER = { dispatch: "eager" } as const;
const again = { idempotent: true } as const;
const done = [ends(say("done"))];

const ticks = async (n: number) => {
  for (let i = 0; i < n; i++) await null;
};
const pay = tool("pay", () => "paid", { requiresApproval: true });
const host = () => new Promise((resolve) => setImmediate(resolve));
describe("Semantics 2.9, 3.9, 3.10, 7.1: of calls that a response takes back nothing is asked, and nothing comes", () => {
  for (const finishReason of ["length", "refusal", "content_filter"] as const)
    it(`2.9, 3.10: nobody is asked about a response that ended with ${finishReason}`, async () => {
      const shown: string[] = [];
      const approver: Approver = ({ callId }) => {
        shown.push(callId);
        return new Promise(() => {});
      };
      const response = { ...calls({ id: "p", name: "pay", args: { x: 1 } }), finishReason };
      const whole = new Deferred<void>();
      const model = new StreamingModel([...response.toolCalls.flatMap(streamed), whole.promise, ends(response)], done);
      const { runner, clock } = setUp(model, [pay], { ...EAGER, approver });
      const running = runner.run(agent("planner"), "Go.");
      await clock.settle();
      whole.resolve();
      await clock.settle();
      expect(shown).toEqual([]);
      expect((await clock.promptly(running)).status).toBe("completed");
    });
  it("3.10: nobody is asked about a call that was withdrawn", async () => {
    const shown: string[] = [];
    const approver: Approver = ({ callId }) => {
      shown.push(callId);
      return { approve: true };
    };
    const first = calls({ id: "p", name: "pay", args: { x: 1 } });
    const response = calls({ id: "q", name: "pay", args: { x: 2 } });
    const whole = new Deferred<void>();
    const model = new StreamingModel([...first.toolCalls.flatMap(streamed), whole.promise, ends(response)], done);
    const { runner, clock } = setUp(model, [pay], { ...EAGER, approver });
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    whole.resolve();
    await clock.promptly(running);
    expect(shown).toEqual(["q"]);
  });
  it("7.1, 8: under fail_run nobody is asked once a sibling has failed", async () => {
    const shown: string[] = [];
    const approver: Approver = ({ callId }) => {
      shown.push(callId);
      return { approve: true };
    };
    const response = calls({ id: "a", name: "search", args: { x: 1 } }, { id: "p", name: "pay", args: { x: 1 } });
    const model = new StreamingModel([...response.toolCalls.flatMap(streamed), ticks(400), ends(response)]);
    const search = tool(
      "search",
      async () => {
        await ticks(60);
        throw new Error("no");
      },
      again,
    );
    const { runner, clock } = setUp(model, [search, pay], { ...EAGER, approver });
    const run = await clock.promptly(runner.run(agent("planner", { onToolError: "fail_run" }), "Go."));
    expect([run.status, shown]).toEqual(["failed", []]);
  });
  for (const isCutOff of [true, false])
    it(`3.10: the gates of a call that was ${isCutOff ? "cut off" : "withdrawn"} are not asked on, and do not end the run`, async () => {
      const asked: string[] = [];
      const gate = new Gate<undefined>();
      const guardrails: Guardrail[] = [
        {
          name: "slow",
          before: ({ id }) => {
            asked.push(`slow ${id}`);
            return id === "p" ? gate.wait("p") : undefined;
          },
        },
        {
          name: "strict",
          before: ({ id }) => {
            asked.push(`strict ${id}`);
            return id === "p" ? { endRun: "no p" } : undefined;
          },
        },
      ];
      const first = calls({ id: "p", name: "search", args: { x: 1 } });
      const response = isCutOff
        ? { ...first, finishReason: "length" as const }
        : calls({ id: "q", name: "search", args: { x: 2 } });
      const whole = new Deferred<void>();
      const model = new StreamingModel([...first.toolCalls.flatMap(streamed), whole.promise, ends(response)], done);
      const { runner, clock } = setUp(model, [tool("search", () => "found", again)], { ...EAGER, guardrails });
      const running = runner.run(agent("planner"), "Go.");
      await clock.settle();
      whole.resolve();
      await clock.settle();
      gate.leaveOpen(undefined);
      const run = await clock.promptly(running);
      expect([run.status, asked]).toEqual(["completed", isCutOff ? ["slow p"] : ["slow p", "slow q", "strict q"]]);
    });
  const never: Hook[] = [
    { name: "h", beforeTool: ({ id }) => (id === "p" ? (new Promise(() => {}) as never) : undefined) },
  ];
  const asked = calls({ id: "p", name: "search", args: { x: 1 } });
  const search = tool("search", () => "x", again);
  it("3.9, 3.10: a gate that never settles, of a call that was cut off, does not keep the run", async () => {
    const cut = { ...asked, finishReason: "length" as const };
    const { runner, clock } = setUp(
      new StreamingModel([...asked.toolCalls.flatMap(streamed), ends(cut)], done),
      [search],
      {
        ...EAGER,
        hooks: never,
      },
    );
    expect((await clock.promptly(runner.run(agent("planner"), "Go."))).status).toBe("completed");
  });
  it("3.9, 3.10: a gate that never settles, of a call that was withdrawn, does not keep the calls of the response", async () => {
    const other = calls({ id: "q", name: "search", args: { x: 1 } });
    const model = new StreamingModel([...asked.toolCalls.flatMap(streamed), ends(other)], done);
    const { runner, clock } = setUp(model, [search], { ...EAGER, hooks: never });
    expect((await clock.promptly(runner.run(agent("planner"), "Go."))).status).toBe("completed");
  });
  it("2.8: the signal of a gate whose call was withdrawn aborts at the latest when the run has ended", async () => {
    const signals: AbortSignal[] = [];
    const beforeTool: Hook["beforeTool"] = (_call, { signal }) => {
      signals.push(signal);
      return new Promise(() => {}) as never;
    };
    const model = new StreamingModel([...asked.toolCalls.flatMap(streamed), ends(say("nothing"))]);
    const { runner, clock } = setUp(model, [search], { ...EAGER, hooks: [{ name: "h", beforeTool }] });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect([run.status, signals.map(({ aborted }) => aborted)]).toEqual(["completed", [true]]);
  });

  it("3.10: under fail_run a bad call that was withdrawn does not end the run", async () => {
    const first = calls({ id: "x", name: "nope", args: { x: 1 } });
    const response = calls({ id: "q", name: "search", args: { q: "q" } });
    const pieces = [...first.toolCalls.flatMap(streamed), ...response.toolCalls.flatMap(streamed), ends(response)];
    const search = async () => {
      await host();
      await host();
      return "found";
    };
    const { runner, clock } = setUp(new StreamingModel(pieces, done), [tool("search", search, again)], EAGER);
    const run = await clock.promptly(runner.run(agent("planner", { onToolError: "fail_run" }), "Go."));
    expect([run.status, ...outcomes(run)]).toEqual(["completed", "q ok: found"]);
  });
  it("2.9: a bad call of a response that was cut off is never dispatched, and ends no run under fail_run", async () => {
    const cut = { ...calls({ id: "x", name: "nope", args: { x: 1 } }), finishReason: "length" as const };
    for (const model of [
      new ScriptedProvider(cut, say("done")),
      new StreamingModel([...cut.toolCalls.flatMap(streamed), ends(cut)], done),
    ]) {
      const { runner, clock } = setUp(model, [tool("search", () => "found", again)], EAGER);
      const run = await clock.promptly(runner.run(agent("planner", { onToolError: "fail_run" }), "Go."));
      expect([run.status, ...outcomes(run)]).toEqual([
        "completed",
        "x never_dispatched: never dispatched: the response was cut off",
      ]);
    }
  });
});
