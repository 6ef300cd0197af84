import { MemoryJournal, type Run, type ToolContext } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { about, answers, approve, pendingOf } from "../runner/resuming.ts";
import { agent } from "../runner/setting.ts";
import { report } from "./report-world.ts";

const list = (path: string, id = "list:0") => calls({ id, name: "list", args: { path } });
const edits = calls(
  { id: "k:0", name: "edit", args: { at: "x" } },
  { id: "k:0", name: "edit", args: { at: "y" } },
  { id: "", name: "edit", args: { at: "z" } },
  { name: "edit", args: { at: "z" } },
);

describe("Semantics 2.5, 7.6: an id that comes back is another call's, with its own body, result and key", () => {
  report(
    "C16: an id that comes back in later turns gets each turn its own result, and the first use stays as it was",
    { starts: { list: 3 } },
    async (world) => {
      const keys = new Set<string>();
      const tool = world.tool("list", ({ path }, { idempotencyKey }: ToolContext) => {
        keys.add(idempotencyKey);
        return `in ${path}`;
      });
      const runner = world.runner(new ScriptedProvider(list("."), list("/"), list("/"), say("ok")), [tool]);
      const run = await world.finish(world.run(runner));
      expect(answers(run)).toEqual(["list:0: in .", "list:0_2: in /", "list:0_3: in /"]);
      expect(keys.size).toBe(3);
      const asked = world.requests.map(({ messages }) => JSON.stringify(messages).slice(0, -1));
      for (const [at, text] of asked.entries()) expect(text.startsWith(asked[at - 1] ?? "[")).toBe(true);
    },
  );

  report(
    "C16: a call that outlives its ceiling does not answer the later call of its id",
    { starts: { list: 2 } },
    async (world) => {
      const tool = world.tool("list", ({ path }) => world.gate.wait(path as string));
      const runner = world.runner(new ScriptedProvider(list("."), list("/"), say("ok")), [tool], {
        concurrency: { perToolSeconds: { list: 5 } },
      });
      const running = world.run(runner);
      await world.clock.advance(5);
      expect(world.gate.waiting).toEqual([".", "/"]);
      world.gate.open(".", "late");
      await world.clock.settle();
      world.gate.open("/", "in time");
      const run = await world.finish(running);
      expect(run.results.map(({ callId, status, content }) => `${callId} ${status}: ${content}`)).toEqual([
        expect.stringMatching(/^list:0 error: list .*5 .*The side effect may have landed\.$/),
        "list:0_2 ok: in time",
      ]);
      const late = world.heard.filter(({ kind }) => kind === "tool_late_result");
      expect(late).toMatchObject([{ callId: "list:0", turn: 1 }]);
    },
  );

  report(
    "C16: an id that a loaded conversation has used is not used again, and the conversation stays as it was",
    { starts: { list: 1 } },
    async (world) => {
      const tool = world.tool("list", ({ path }) => `in ${path}`);
      const first = world.runner(new ScriptedProvider(list("."), say("ok")), []);
      const earlier = await world.finish(world.run(first));
      const runner = world.runner(new ScriptedProvider(list("/"), say("ok")), [tool]);
      const run = await world.finish(world.run(runner, agent("planner"), [...earlier.messages]));
      expect(run.messages.slice(0, earlier.messages.length)).toEqual(earlier.messages);
      expect(answers(run).at(-1)).toBe("list:0_2: in /");
    },
  );

  report(
    "C16: in a run that is resumed, an answer goes to the call that waits and not to an earlier one of its id",
    { starts: { list: 2, pay: 1 } },
    async (world) => {
      const planner = agent("planner");
      const provider = new ScriptedProvider(list("."), calls({ id: "list:0", name: "pay" }), list("/"), say("ok"));
      const listing = world.tool("list", ({ path }) => `in ${path}`);
      const pay = world.tool("pay", () => "paid", { requiresApproval: true });
      const runner = world.runner(provider, [listing, pay], { agents: [planner], journal: new MemoryJournal() });
      const first = await world.finish(world.run(runner, planner));
      expect(pendingOf(first)).toMatchObject([{ callId: "list:0_2", tool: "pay" }]);
      const run = await world.finish(
        world.keep(runner.resume(first.id, { decisions: about(first, approve) }) as Promise<Run>),
      );
      expect(answers(run)).toEqual(["list:0: in .", "list:0_2: paid", "list:0_3: in /"]);
    },
  );

  report(
    "C17: calls of one batch with one id, or none, each run with their own arguments and get their own result",
    { starts: { edit: 4 } },
    async (world) => {
      const keys = new Set<string>();
      const edit = world.tool("edit", async ({ at }, { callId, idempotencyKey }) => {
        keys.add(idempotencyKey);
        await world.gate.wait(callId);
        return `edited ${at}`;
      });
      const runner = world.runner(new ScriptedProvider(edits, say("ok")), [edit]);
      const running = world.run(runner);
      await world.clock.settle();
      const waiting = world.gate.waiting;
      expect(waiting).toEqual(["k:0", "k:0_2", "call_1_2", "call_1_3"]);
      for (const id of waiting.reverse()) world.gate.open(id, undefined);
      const run = await world.finish(running);
      expect(answers(run)).toEqual(["k:0: edited x", "k:0_2: edited y", "call_1_2: edited z", "call_1_3: edited z"]);
      expect(keys.size).toBe(4);
    },
  );

  report(
    "C17: whoever decides about calls of one id decides about each of them",
    { starts: { edit: 2 } },
    async (world) => {
      const asked: string[] = [];
      const edit = world.tool("edit", ({ at }) => `edited ${at}`, { requiresApproval: true });
      const runner = world.runner(new ScriptedProvider(edits, say("ok")), [edit], {
        approver: ({ id, callId }) => {
          asked.push(id);
          return callId === "k:0_2" || callId === "call_1_2" ? { approve: true } : { approve: false, reason: "no" };
        },
      });
      const run = await world.finish(world.run(runner));
      expect(new Set(asked).size).toBe(4);
      expect(answers(run)).toEqual([
        "k:0: never dispatched: denied: no",
        "k:0_2: edited y",
        "call_1_2: edited z",
        "call_1_3: never dispatched: denied: no",
      ]);
    },
  );

  report(
    "C17: decisions about a suspended run's calls of one id go each to its own call, in any order",
    { starts: { edit: 2 } },
    async (world) => {
      const planner = agent("planner");
      const edit = world.tool("edit", ({ at }) => `edited ${at}`, { requiresApproval: true });
      const journal = new MemoryJournal();
      const runner = world.runner(new ScriptedProvider(edits, say("ok")), [edit], { agents: [planner], journal });
      const first = await world.finish(world.run(runner, planner));
      const [x, y, z, last] = pendingOf(first).map(({ id }) => id) as [string, string, string, string];
      const decisions = { [last]: { result: "by hand" }, [y]: approve, [x]: { approve: false, reason: "no" } } as const;
      const second = await world.finish(world.keep(runner.resume(first.id, { decisions }) as Promise<Run>));
      expect(pendingOf(second)).toMatchObject([{ id: z, callId: "call_1_2" }]);
      const run = await world.finish(
        world.keep(runner.resume(first.id, { decisions: { [z]: approve } }) as Promise<Run>),
      );
      expect(answers(run)).toEqual([
        "k:0: never dispatched: denied: no",
        "k:0_2: edited y",
        "call_1_2: edited z",
        "call_1_3: by hand",
      ]);
    },
  );

  report(
    "C17: a stop tells calls of one id apart: what has ended, what was in flight, and what never went out",
    { starts: { edit: 2 } },
    async (world) => {
      const controller = new AbortController();
      const edit = world.listening("edit");
      const runner = world.runner(new ScriptedProvider(edits), [edit], { concurrency: { maxConcurrentTools: 1 } });
      const running = world.run(runner, agent("planner"), "Go.", { signal: controller.signal });
      await world.clock.settle();
      world.gate.open("k:0", "edited x");
      await world.clock.settle();
      controller.abort();
      const run = await world.finish(running);
      expect(run.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual([
        "k:0 ok",
        "k:0_2 indeterminate",
        "call_1_2 never_dispatched",
        "call_1_3 never_dispatched",
      ]);
    },
  );
});
