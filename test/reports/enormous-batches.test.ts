import { agentTool, type RunnerOptions } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, tool } from "../runner/setting.ts";
import { report } from "./report-world.ts";

const many = (count: number) => calls(...Array.from({ length: count }, (_, no) => ({ work: { no } })));

describe("Semantics 2.10: the first calls of a turn run, the rest is answered shortly, and work grows with their number", () => {
  for (const [count, limit] of [
    [14_408, 64],
    [2_000, 6],
    [64, 64],
    [65, 64],
    [8, 6],
    [129, undefined],
  ] as const) {
    const most = limit ?? 128;
    const runs = Math.min(count, most);
    report(
      `C29: of ${count} calls in one turn ${runs} run, the first in call order, with a limit of ${most}`,
      { starts: { work: runs }, timeoutMs: 60_000 },
      async (world) => {
        const asked: string[] = [];
        const options: RunnerOptions = {
          ...(limit === undefined ? {} : { limits: { maxCallsPerTurn: limit } }),
          hooks: [{ name: "counts", beforeTool: ({ id }) => void asked.push(id) }],
        };
        const provider = new ScriptedProvider(many(count), say("ok"));
        const runner = world.runner(provider, [world.tool("work", ({ no }) => `done ${no}`)], options);
        const run = await world.clock.promptly(world.run(runner));
        const ids = Array.from({ length: count }, (_, no) => `t1_work_${no}`);
        expect(run.results.map(({ callId }) => callId)).toEqual(ids);
        expect(run.results.slice(0, runs).map(({ content }) => content)).toEqual(
          ids.slice(0, runs).map((_, no) => `done ${no}`),
        );
        // No gate is asked about a call that can not run.
        expect(asked).toEqual(ids.slice(0, runs));
        const rest = run.results.slice(runs);
        expect(new Set(rest.map(({ status }) => status)).size).toBeLessThanOrEqual(1);
        expect(new Set(rest.map(({ content }) => content)).size).toBeLessThanOrEqual(1);
        for (const { status, content } of rest.slice(0, 1)) {
          expect([status, content]).toEqual(["never_dispatched", expect.stringMatching(/^never dispatched: /)]);
          expect(content.length).toBeLessThan(120);
        }
        // What is told of a call that does not run is as short: two events, no more.
        const told = run.events.filter((event) => "callId" in event);
        expect(told.length).toBeLessThanOrEqual(6 * runs + 2 * rest.length);
      },
    );
  }

  report(
    "C29: each nested run has a turn of its own, and none of them runs one call more than its limit",
    { starts: { work: 3 * 6 } },
    async (world) => {
      const worker = agent("worker", { tools: ["work"] });
      const sub = agentTool(worker, { name: "sub", description: "" });
      const wants = { sub: { input: "x" } };
      const provider = ScriptedProvider.byAgent({
        planner: [calls(wants, wants, wants), say("ok")],
        worker: [many(8), many(8), many(8), say("ok"), say("ok"), say("ok")],
      });
      const tools = [world.tool("work", () => "done"), sub, tool("unused", () => "done")];
      const runner = world.runner(provider, tools, { limits: { maxCallsPerTurn: 6 } });
      const run = await world.clock.promptly(world.run(runner));
      expect(run.results.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
      const refused = world.heard.filter((event) => event.kind === "tool_error" && event.status === "never_dispatched");
      expect(refused).toHaveLength(6);
    },
  );

  report(
    "C29: calls that go out while the model still streams are no more than the limit, either",
    { starts: { work: 6 } },
    async (world) => {
      const runner = world.runner(
        new ScriptedProvider(many(8), say("ok")),
        [world.deaf("work", { idempotent: true })],
        { dispatch: "eager", limits: { maxCallsPerTurn: 6 } },
      );
      const running = world.keep(runner.stream(agent("planner"), "Go.").run);
      await world.clock.settle();
      expect(world.gate.waiting).toEqual([0, 1, 2, 3, 4, 5].map((no) => `t1_work_${no}`));
      const run = await world.finish(running);
      expect(run.results.map(({ status }) => status)).toEqual([
        ...Array(6).fill("ok"),
        ...Array(2).fill("never_dispatched"),
      ]);
    },
  );
});
