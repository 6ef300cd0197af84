import type { PendingCall } from "lanekeeper";
import { calls, ScriptedProvider } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, outcomes } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";
import { WAYS_TO_STOP } from "./ways-to-stop.ts";

/** People who answer at the gate, under the call's id; `prompts` has the signals of what they were asked. */
function people({ gate }: ReportWorld, areDeaf: boolean) {
  const prompts = new Map<string, AbortSignal>();
  const approver = ({ callId }: PendingCall, { signal }: { signal: AbortSignal }) => {
    prompts.set(callId, signal);
    return gate.wait(callId, areDeaf ? {} : { signal }) as Promise<{ approve: true }>;
  };
  return { approver, prompts };
}

const asked = calls(...["a", "b", "c"].map((id) => ({ id, name: "pay" })));

describe("Semantics 3.1, 3.8, 3.10, 8: a stop closes the open prompt, shows no other, and a late answer does nothing", () => {
  for (const way of WAYS_TO_STOP) {
    for (const areDeaf of [true, false]) {
      report(
        `C11: ${way.name} ends the wait for somebody who ${areDeaf ? "ignores" : "listens to"} the prompt's signal`,
        { starts: {} },
        async (world) => {
          const { approver, prompts } = people(world, areDeaf);
          const pay = world.tool("pay", () => "paid", { requiresApproval: true });
          const runner = world.runner(new ScriptedProvider(asked), [pay], { ...way.options, approver });
          const { running, stop } = way.start(world, runner);
          await world.clock.promptly(world.gate.arrived("a"));
          await stop();
          const run = await world.clock.promptly(running);
          const told = world.heard.length;
          if (areDeaf) world.gate.open("a", { approve: true });
          await world.clock.settle();
          expect(world.heard).toHaveLength(told);
          expect([...prompts].map(([id, { aborted }]) => `${id} ${aborted}`)).toEqual(["a true"]);
          expect(run).toMatchObject(way.ends);
          expect(outcomes(run)).toEqual(
            ["a", "b", "c"].map((id) => `${id} never_dispatched: never dispatched: ${way.why}`),
          );
        },
      );
    }

    report(
      `C11: ${way.name} withdraws what was approved before, and what waits in a run below`,
      { starts: { sub: 1 } },
      async (world) => {
        const { approver, prompts } = people(world, true);
        const pay = world.tool("pay", () => "paid", { requiresApproval: true });
        const below = agent("below", { tools: ["pay"] });
        const sub = world.tool("sub", (_, ctx) => ctx.run(below, "Go."), { isCaller: true });
        const provider = ScriptedProvider.byAgent({ planner: [calls({ id: "s", name: "sub" })], below: [asked] });
        const runner = world.runner(provider, [pay, sub], { ...way.options, approver, agents: [below] });
        const { running, stop } = way.start(world, runner, agent("planner", { tools: ["sub"] }));
        await world.clock.promptly(world.gate.arrived("a"));
        world.gate.open("a", { approve: true });
        await world.clock.promptly(world.gate.arrived("b"));
        await stop();
        expect(await world.clock.promptly(running)).toMatchObject({
          ...way.ends,
          results: [{ status: "indeterminate" }],
        });
        world.gate.open("b", { approve: true });
        await world.clock.settle();
        expect([...prompts.keys()]).toEqual(["a", "b"]);
        expect(prompts.get("b")?.aborted).toBe(true);
      },
    );

    report(
      `C11: with eager dispatch ${way.name} stops what is in flight beside the open prompt, and nothing else goes out`,
      { starts: { look: 1 } },
      async (world) => {
        const { approver, prompts } = people(world, true);
        const tools = [world.deaf("look"), world.tool("pay", () => "paid", { requiresApproval: true })];
        const provider = new ScriptedProvider(
          calls({ id: "first", name: "look" }, ...asked.toolCalls, { id: "last", name: "look" }),
        );
        const runner = world.runner(provider, tools, { ...way.options, approver, dispatch: "eager" });
        const { running, stop } = way.start(world, runner);
        await world.clock.settle();
        expect(world.gate.waiting.sort()).toEqual(["a", "first"]);
        await stop();
        const run = await world.clock.promptly(running);
        world.gate.open("a", { approve: true });
        world.gate.open("first", "late");
        await world.clock.settle();
        expect([...prompts.keys()]).toEqual(["a"]);
        expect(outcomes(run)).toEqual([
          `first indeterminate: stopped in flight: ${way.why}. The side effect may have landed.`,
          ...["a", "b", "c", "last"].map((id) => `${id} never_dispatched: never dispatched: ${way.why}`),
        ]);
      },
    );
  }
});
