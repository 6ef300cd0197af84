import { agentTool, type JournalEntry, type ModelResponse } from "lanekeeper";
import { calls, Gate, leakCheck, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, faults, kinds, outcomes, setUp, tool } from "../runner/setting.ts";
import { ends, StreamingModel, streamed } from "../runner/streaming.ts";
import { afterCrash, WatchedJournal } from "./journals.ts";

const keep = { id: "k", name: "keep", args: { to: "first" } };
const sub = { id: "s", name: "sub", args: { input: "first" } };
const whole = (response: ModelResponse) => [...response.toolCalls.flatMap(streamed), ends(response)];

function world(journal: WatchedJournal, model: StreamingModel) {
  const gate = new Gate<string>();
  const ran: string[] = [];
  const body = (
    args: Record<string, unknown>,
    { state, tool: name }: { state: { set(k: string, v: unknown): void }; tool: string },
  ) => {
    ran.push(`${name} ${args.to}`);
    state.set(`${name} ${args.to}`, true);
    return name === "wait" ? gate.wait("wait") : `${name} ${args.to}`;
  };
  const worker = agent("worker", { tools: ["wait"] });
  const again = { idempotent: true };
  const planner = agent("planner", {
    tools: ["keep", "send", agentTool(worker, { name: "sub", description: "", ...again })],
  });
  const tools = [tool("keep", body, again), tool("send", body), tool("wait", body, again)];
  return { gate, ran, planner, ...setUp(model, tools, { journal, dispatch: "eager", agents: [planner] }) };
}

/** What a process leaves that dies while its model streams: `keep` has its result, and a run below `sub` is in flight. */
async function died(): Promise<readonly JournalEntry[]> {
  const journal = new WatchedJournal();
  const never = new Promise(() => {});
  const below = calls({ id: "w", name: "wait", args: { to: "below" } });
  const model = new StreamingModel([...streamed(keep, 0), ...streamed(sub, 1), never], whole(below));
  const { runner, planner, clock, gate } = world(journal, model);
  const controller = new AbortController();
  const running = runner.run(planner, "Go.", { signal: controller.signal });
  await clock.settle();
  expect(gate.waiting).toEqual(["wait"]);
  const entries = await journal.entries("run_1");
  gate.leaveOpen("");
  controller.abort();
  await clock.promptly(running);
  return entries;
}

const answer = calls(
  { id: "x", name: "send", args: { to: "x" } },
  { ...sub, args: { input: "second" } },
  { ...keep, id: "y", args: { to: "y" } },
);

/** Goes on with what a process left; `entries` are what this one leaves right behind the first answer. */
async function resumed(known: readonly JournalEntry[], model: StreamingModel) {
  const journal = await afterCrash("run_1", known);
  const { runner, clock, ran } = world(journal, model);
  const leaks = leakCheck(runner, { clock });
  let entries: readonly JournalEntry[] = [];
  journal.before = async (step) => {
    if (step === "release") entries = await journal.entries("run_1");
  };
  const run = await clock.promptly(runner.resume("run_1"));
  await leaks.done();
  expect(outcomes(run)).toEqual(["x ok: send x", "s ok: nothing to wait for", "y ok: keep y"]);
  expect([run.status, run.state, faults(run)]).toEqual(["completed", { "send x": true, "keep y": true }, []]);
  expect(ran.sort()).toEqual(["keep y", "send x"]);
  expect(kinds(run.events)[0]).toBe("run_resumed");
  return entries.slice(0, entries.findIndex((line) => line.kind === "model_answered" && line.path === "0") + 1);
}

describe("Semantics 3.10, 11.2: what went out before an answer that a crash cut off never was", () => {
  it("the model is asked anew, and what it answers has nothing of the first answer's calls", async () => {
    const below = [ends(say("nothing to wait for"))];
    const last = [ends(say("done"))];
    for (const streams of [true, false]) {
      const second = streams ? whole(answer) : [ends(answer)];
      const entries = await resumed(await died(), new StreamingModel(second, below, last));
      // What the second process took back stays taken back, also when it dies, too.
      if (!streams) await resumed(entries, new StreamingModel(below, last));
    }
  });
});
