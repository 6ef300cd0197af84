import { type Decision, defineTool, type PendingCall } from "lanekeeper";
import { calls, ScriptedProvider, say, Witness } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, outcomes } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

const IDS = ["a", "b", "c", "d", "e", "f"];
const asked = calls(
  ...IDS.map((id) => ({ id, name: id === "a" ? "look" : "pay", args: id === "a" ? {} : { sum: 1 } })),
);
const ARGS = { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"] } as const;

/** `look` needs nobody's leave, `pay` does; `paid` has the arguments with which its bodies ran. */
function tools(world: ReportWorld) {
  const paid: Record<string, unknown> = {};
  const { run } = world.tool("pay", (args, { callId }) => {
    paid[callId] = args.sum;
    return `paid ${args.sum}`;
  });
  const pay = defineTool({ name: "pay", description: "", input: ARGS, requiresApproval: true, run: run as never });
  return { paid, tools: [world.tool("look", () => "seen"), pay] };
}

const DENIED = "never_dispatched: never dispatched: denied: no reason was given";

describe("Semantics 3.1, 3.2, 3.3, 3.9, 3.10: a denied call does not run, and those beside it do", () => {
  for (const dispatch of ["after_gates", "eager"] as const) {
    report(
      `C68: each of six calls that go out ${dispatch} has what was decided about it, and the person was asked in order, one at a time`,
      { starts: { look: 1, pay: 2 } },
      async (world) => {
        const decisions: Record<string, () => unknown> = {
          b: () => ({ approve: false }),
          c: () => ({ approve: true }),
          d: () => {
            throw new Error("hung up");
          },
          e: () => undefined,
          f: () => ({ approve: true, args: { sum: 2 } }),
        };
        const prompts = new Witness();
        const approver = ({ callId }: PendingCall) =>
          prompts.body(callId, async () => {
            await Promise.resolve();
            return decisions[callId]?.() as Decision;
          });
        const { tools: both, paid } = tools(world);
        const run = await world.finish(
          world.run(world.runner(new ScriptedProvider(asked, say("ok")), both, { approver, dispatch })),
        );
        expect(outcomes(run)).toEqual([
          "a ok: seen",
          `b ${DENIED}`,
          "c ok: paid 1",
          "d never_dispatched: never dispatched: the approver failed: hung up",
          "e never_dispatched: never dispatched: the approver: expected { approve }, { result } or { suspend: true }, got undefined",
          "f ok: paid 2",
        ]);
        expect(paid).toEqual({ c: 1, f: 2 });
        // The model is shown what ran.
        expect(world.requests[1]?.messages[1]).toMatchObject({
          toolCalls: [{}, ...[1, 1, 1, 1, 2].map((sum) => ({ args: { sum } }))],
        });
        expect([prompts.order, prompts.peak()]).toEqual([
          ["b", "c", "d", "e", "f"].flatMap((id) => [`${id} starts`, `${id} ends`]),
          1,
        ]);
      },
    );
  }

  for (const answer of [
    null,
    true,
    "yes",
    [],
    {},
    { approve: "yes" },
    { approve: 1 },
    { approved: true },
    { args: { sum: 1 } },
  ]) {
    report(`C68: ${JSON.stringify(answer)} is no leave to run`, { starts: { look: 1 } }, async (world) => {
      const approver = () => answer as unknown as Decision;
      const run = await world.finish(
        world.run(world.runner(new ScriptedProvider(asked, say("ok")), tools(world).tools, { approver })),
      );
      expect(run.results.map(({ status }) => status)).toEqual(["ok", ...IDS.slice(1).map(() => "never_dispatched")]);
    });
  }

  for (const [args, told] of [
    [{ sum: "two" }, /^b error: pay: bad arguments: .*sum/],
    [{}, /^b error: pay: bad arguments: .*sum/],
    ["{", /^b error: pay: bad arguments: /],
    [null, /^b never_dispatched: .*the approver: expected arguments/],
  ] as const) {
    report(
      `C68: arguments edited to ${JSON.stringify(args)} are read again, and are that call's failure`,
      { starts: { look: 1, pay: 4 } },
      async (world) => {
        const approver = ({ callId }: PendingCall): Decision =>
          callId === "b" ? { approve: true, args } : { approve: true };
        const run = await world.finish(
          world.run(world.runner(new ScriptedProvider(asked, say("ok")), tools(world).tools, { approver })),
        );
        expect(outcomes(run)[1]).toMatch(told);
        expect(run.results.map(({ status }) => status === "ok")).toEqual([true, false, true, true, true, true]);
      },
    );
  }

  for (const reason of [undefined, "", "  "]) {
    report(
      `C68: decided later, with ${JSON.stringify(reason)} as reason, the denied calls do not run and the others do`,
      { starts: { look: 1, pay: 2 } },
      async (world) => {
        const { tools: both, paid } = tools(world);
        const runner = world.runner(new ScriptedProvider(asked, say("ok")), both, { agents: [agent("planner")] });
        const first = await world.finish(world.run(runner));
        const ids = Object.fromEntries(
          (first.status === "suspended" ? first.pending : []).map(({ callId, id }) => [callId, id]),
        );
        expect(Object.keys(ids)).toEqual(["b", "c", "d", "e", "f"]);
        const no: Decision = reason === undefined ? { approve: false } : { approve: false, reason };
        const said: Record<string, Decision> = {
          b: no,
          c: { approve: true },
          d: no,
          e: no,
          f: { approve: true, args: { sum: 2 } },
        };
        const decisions = Object.fromEntries(
          Object.entries(said).map(([id, decision]) => [ids[id] as string, decision]),
        );
        const garbage = { ...decisions, [ids.e as string]: {} as Decision };
        await expect(runner.resume(first.id, { decisions: garbage })).rejects.toMatchObject({ code: "CONFIGURATION" });
        const run = await world.finish(world.keep(runner.resume(first.id, { decisions }) as Promise<typeof first>));
        expect(outcomes(run)).toEqual([
          "a ok: seen",
          `b ${DENIED}`,
          "c ok: paid 1",
          `d ${DENIED}`,
          `e ${DENIED}`,
          "f ok: paid 2",
        ]);
        expect(paid).toEqual({ c: 1, f: 2 });
      },
    );
  }

  report(
    "C68: a denial is no failure: under fail_run the run goes on as well",
    { starts: { look: 1 } },
    async (world) => {
      const approver = (): Decision => ({ approve: false, reason: "too dear" });
      const runner = world.runner(new ScriptedProvider(asked, say("ok")), tools(world).tools, { approver });
      const run = await world.finish(world.run(runner, agent("planner", { onToolError: "fail_run" })));
      const denied = IDS.slice(1).map((id) => `${id} never_dispatched: never dispatched: denied: too dear`);
      expect([run.status, outcomes(run)]).toEqual(["completed", ["a ok: seen", ...denied]]);
    },
  );
});
