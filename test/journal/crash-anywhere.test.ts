import { agentTool, type JournalEntry, type Run } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { approve, verdicts } from "../runner/resuming.ts";
import { agent, faults, setUp, tool } from "../runner/setting.ts";
import { afterCrash, WatchedJournal } from "./journals.ts";

/** Two turns with a nested agent, idempotent calls and others, state, and a run that nothing continues. */
function world(journal: WatchedJournal, dispatch: "after_gates" | "eager" = "after_gates") {
  const ran: string[] = [];
  const body =
    (name: string) =>
    (_: unknown, ctx: { idempotencyKey: string; state: { set(key: string, value: unknown): void } }): string => {
      ran.push(`${name} ${ctx.idempotencyKey}`);
      ctx.state.set("seen", [ctx.idempotencyKey]);
      return name;
    };
  const args = { to: "x" };
  // A model answers by what it is asked, so that it answers the same in each process.
  const provider = new ScriptedProvider(
    ...Array.from(
      { length: 20 },
      () =>
        ({ messages }: { messages: readonly { role: string }[] }, { run }: { run: { agent: string } }) => {
          const turn = 1 + messages.filter(({ role }) => role === "assistant").length;
          if (run.agent === "worker")
            return turn === 1 ? calls({ id: "d", name: "keep", args }, { id: "e", name: "send", args }) : say("worked");
          if (run.agent === "left") return say("left");
          if (turn === 1) {
            return calls(
              { id: "a", name: "keep", args },
              { id: "b", name: "send", args },
              { id: "s", name: "sub", args: { input: "x" } },
              { id: "l", name: "leave", args },
            );
          }
          return turn === 2 ? calls({ id: "z", name: "send", args }) : say("done");
        },
    ),
  );
  const seen = { initial: [] as string[], reduce: (old: string[], next: string[]) => [...old, ...next] };
  const worker = agent("worker", { tools: ["keep", "send"], state: { seen } });
  const planner = agent("planner", {
    tools: [
      "keep",
      "send",
      "leave",
      agentTool(worker, { name: "sub", description: "", idempotent: dispatch === "eager" }),
    ],
    state: { seen },
  });
  const tools = [
    tool("keep", body("keep"), { idempotent: true }),
    tool("send", body("send")),
    tool("leave", async (_, ctx) => (await ctx.run(agent("left", { tools: [] }), "Go.")).status, { idempotent: true }),
  ];
  return { ran, planner, provider, ...setUp(provider, tools, { journal, dispatch, agents: [planner] }) };
}

/** Whether the model's whole answer stands beside a call's line, and beside those of the calls above it. */
function answered(entries: readonly JournalEntry[], { path, turn }: JournalEntry & { turn?: number }): boolean {
  const isHere = entries.some((one) => one.kind === "model_answered" && one.path === path && one.turn === turn);
  const above = /^(.*)\/(\d+)\.\d+(?::\d+)?$/.exec(path);
  return isHere && (above === null || answered(entries, { path: above[1], turn: Number(above[2]) } as JournalEntry));
}

const place = (entry: JournalEntry): string =>
  "position" in entry ? `${entry.path}/${entry.turn}.${entry.position}` : entry.path;

describe("Semantics 2.4, 3.10, 11.1, 11.2: wherever a process dies, the next one ends the run and runs nothing twice that it may not", () => {
  it.each(["after_gates", "eager"] as const)("behind each line of its journal: dispatch %s", async (dispatch) => {
    const journal = new WatchedJournal();
    const whole = world(journal, dispatch);
    let entries: readonly JournalEntry[] = [];
    journal.before = async (step) => {
      if (step === "release") entries = await journal.entries("run_1");
    };
    const plain = await whole.clock.promptly(whole.runner.run(whole.planner, "Go."));
    expect(plain.status).toBe("completed");
    for (let length = 1; length <= entries.length; length++) {
      const known = entries.slice(0, length);
      const { ran, runner, clock, heard } = world(await afterCrash("run_1", known), dispatch);
      const leaks = leakCheck(runner, { clock });
      const run: Run<unknown> = await clock.promptly(runner.resume("run_1", { decisions: {} }));
      await leaks.done();
      const at = `behind line ${length}, ${known.at(-1)?.kind} ${place(known.at(-1) as JournalEntry)}`;
      expect(run.status, at).toBe("completed");
      expect(faults(run), at).toEqual([]);
      // Of a turn whose answer never came whole, calls are asked for anew: they went out only where that is harmless.
      const isAnswered = (entry: JournalEntry): boolean => answered(known, entry);
      const begun = known.filter((entry) => entry.kind === "call_begun" && isAnswered(entry)).map(place);
      const settled = known.filter((entry) => entry.kind === "call_settled" && isAnswered(entry)).map(place);
      const unknown = begun.filter((key) => !settled.includes(key));
      for (const line of ran) {
        const [name, key] = line.split(" ") as [string, string];
        const where = key.replace("run_1/", "");
        expect(settled, `${at}: ${line}`).not.toContain(where);
        if (name === "send") expect(begun, `${at}: ${line}`).not.toContain(where);
      }
      expect(new Set(ran).size, at).toBe(ran.length);
      // What nobody knows is said, of calls that are not idempotent alone.
      for (const { callId, status } of run.results) {
        const isLost = ["b", "z"].includes(callId) && unknown.includes(callId === "b" ? "0/1.1" : "0/2.0");
        expect(`${callId} ${status}`, at).toBe(`${callId} ${isLost ? "indeterminate" : "ok"}`);
      }
      // Told in the second part: one verdict for each call that had none.
      for (const [key, count] of Object.entries(verdicts(heard))) {
        expect(`${key} ${count}`, at).toBe(`${key} ${settled.includes(key) ? 0 : 1}`);
      }
      // Each recorded answer was asked for once, and counted once. A body that is run again runs its agents again.
      const isLeftTwice =
        unknown.includes("0/1.3") && known.some((line) => line.kind === "usage_spent" && line.usage.totalTokens === 2);
      expect(run.usage.totalTokens, at).toEqual(plain.usage.totalTokens + (isLeftTwice ? 2 : 0));
      expect((run.state.seen as string[]).length, at).toBe(
        run.results.filter(({ name, status }) => status === "ok" && ["keep", "send"].includes(name)).length,
      );
    }
  });

  it("decisions that were recorded before are not lost, and nobody is asked again", async () => {
    const journal = new WatchedJournal();
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }, { id: "b", name: "pay" }));
    const planner = agent("planner");
    const never = tool("pay", () => new Promise(() => {}), { requiresApproval: true });
    const { runner, clock } = setUp(provider, [never], { journal, agents: [planner] });
    const first = await clock.promptly(runner.run(planner, "Go."));
    let entries: readonly JournalEntry[] = [];
    void runner.resume(first.id, { decisions: { "run_1/0/1.0": approve } });
    await clock.settle();
    entries = await journal.entries("run_1");
    const decided = entries.findIndex(({ kind }) => kind === "call_decided") + 1;
    const ran: string[] = [];
    const pay = tool("pay", (_, { idempotencyKey }) => void ran.push(idempotencyKey), { requiresApproval: true });
    for (const [length, sends] of [
      [decided, 1],
      [decided + 1, 1],
      [entries.length, 0],
    ] as const) {
      ran.length = 0;
      const next = setUp(new ScriptedProvider(), [pay], {
        journal: await afterCrash("run_1", entries.slice(0, length)),
        agents: [planner],
      });
      const run = await next.clock.promptly(next.runner.resume("run_1"));
      expect(run).toMatchObject({ status: "suspended", pending: [{ callId: "b" }] });
      expect(ran).toHaveLength(sends);
      expect(run.results.map(({ status }) => status)).toEqual([sends === 1 ? "ok" : "indeterminate"]);
    }
  });
});
