import { agentTool, type Message, type RunEvent } from "lanekeeper";
import { calls, Gate, leakCheck, ScriptedProvider, say, seededRandom } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, kinds, lines, setUp, takes, tool } from "./setting.ts";

/** A planner that asks for three lookups and two researchers, each of which asks for two more. */
function world() {
  const gate = new Gate<string>();
  const lookup = tool("lookup", async ({ q }, { progress }) => {
    progress(0.5, `half of ${q}`);
    const said = await gate.wait(q as string);
    if (said === "fails") throw new Error(`no ${q}`);
    return said;
  });
  const research = agentTool(agent("researcher", { tools: ["lookup"] }), { name: "research", description: "" });
  const provider = ScriptedProvider.byAgent({
    planner: [
      calls(
        { lookup: { q: "a" } },
        { research: { input: "x" } },
        { lookup: { q: "b" } },
        { research: { input: "y" } },
        { lookup: { q: "c" } },
      ),
      say("done"),
    ],
    researcher: Array.from({ length: 4 }, () => ({ messages }: { messages: Message[] }) => {
      const topic = String(messages[0]?.content);
      if (messages.length > 1) return say(`knows ${topic}`);
      return calls({ lookup: { q: `${topic}1` } }, { lookup: { q: `${topic}2` } });
    }),
  });
  return { gate, provider, planner: agent("planner"), ...setUp(provider, [lookup, research]) };
}

const LOOKUPS = ["a", "b", "c", "x1", "x2", "y1", "y2"];

/** Runs the world and lets the lookups end in this order. */
async function finishing(order: readonly string[]) {
  const { gate, provider, planner, runner, clock, heard } = world();
  const leaks = leakCheck(runner, { clock, provider });
  const running = runner.run(planner, "Go.");
  for (const label of LOOKUPS) await clock.promptly(gate.arrived(label));
  for (const label of order) {
    gate.open(label, label === "b" || label === "x2" ? "fails" : `found ${label}`);
    await clock.settle();
  }
  const run = await clock.promptly(running);
  await leaks.done();
  return { run, heard };
}

/** What determinism covers: everything but `at`, measured seconds and progress. */
function told(events: readonly RunEvent[]): unknown[] {
  return events
    .filter(({ kind }) => kind !== "tool_progress")
    .map((event) => ({ ...event, at: 0, seq: 0, ...("waitedSeconds" in event ? { waitedSeconds: 0 } : {}) }));
}

describe("Semantics 2.3: messages and events do not depend on who finished first", () => {
  it("the transcript and the events of every finishing order are the same, nested runs included", async () => {
    const first = await finishing(LOOKUPS);
    expect(first.run.messages.filter(({ role }) => role === "tool")).toMatchObject([
      { callId: "t1_lookup_0", content: "found a" },
      { callId: "t1_research_1", content: "knows x" },
      { callId: "t1_lookup_2", content: "lookup failed: no b", isError: true },
      { callId: "t1_research_3", content: "knows y" },
      { callId: "t1_lookup_4", content: "found c" },
    ]);
    const random = seededRandom(7);
    for (let round = 0; round < 8; round++) {
      const order = [...LOOKUPS].sort(() => random() - 0.5);
      const { run } = await finishing(round === 0 ? [...LOOKUPS].reverse() : order);
      expect(run.messages).toEqual(first.run.messages);
      expect(run.results).toEqual(first.run.results);
      expect(told(run.events)).toEqual(told(first.run.events));
    }
  });

  it("holds each call's events together in call order, and a nested run's inside its call", async () => {
    const { run, heard } = await finishing([...LOOKUPS].reverse());
    expect(lines(run.events).filter((line) => !line.includes("progress"))).toEqual([
      "0 run_started",
      "0 model_requested",
      "0 model_responded",
      ...callLines("0", "t1_lookup_0", "asked for as call 1 of 5"),
      "0 tool_requested t1_research_1: asked for as call 2 of 5",
      "0 tool_queued t1_research_1: queued",
      "0 tool_dispatched t1_research_1: dispatched",
      ...nestedLines("0/1.1"),
      "0 tool_completed t1_research_1: returned",
      "0 tool_result t1_research_1: completed",
      ...callLines("0", "t1_lookup_2", "asked for as call 3 of 5", "lookup failed: no b"),
      "0 tool_requested t1_research_3: asked for as call 4 of 5",
      "0 tool_queued t1_research_3: queued",
      "0 tool_dispatched t1_research_3: dispatched",
      ...nestedLines("0/1.3"),
      "0 tool_completed t1_research_3: returned",
      "0 tool_result t1_research_3: completed",
      ...callLines("0", "t1_lookup_4", "asked for as call 5 of 5"),
      "0 batch_resolved",
      "0 model_requested",
      "0 model_responded",
      "0 run_completed",
    ]);
    expect(run.events.map(({ seq }) => seq)).toEqual(run.events.map((_, at) => at));
    // Live they came as they happened, numbered in one sequence over all runs below the outermost.
    expect(heard.map(({ seq }) => seq)).toEqual(heard.map((_, at) => at));
    const ended = heard
      .filter(({ kind }) => kind === "tool_completed")
      .map((event) => "callId" in event && event.callId);
    expect(ended.slice(0, 4)).toEqual(["t1_lookup_1", "t1_lookup_0", "t1_research_3", "t1_lookup_1"]);
  });

  it("is frozen when the run settles; what comes later goes to onEvent only", async () => {
    const provider = new ScriptedProvider(calls({ deaf: {} }), say("never asked"));
    const { runner, clock, heard } = setUp(provider, [tool("deaf", takes(10, "late"))], {
      deadlines: { runSeconds: 1 },
    });
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(1);
    const run = await clock.promptly(running);
    expect(run.status).toBe("failed");
    const before = [...run.events];
    expect(() => (run.events as RunEvent[]).push(before[0] as RunEvent)).toThrow(TypeError);
    expect(() => Object.assign(run.events[0] as object, { kind: "x" })).toThrow(TypeError);
    await clock.advance(9);
    expect(run.events).toEqual(before);
    expect(kinds(run.events)).not.toContain("tool_late_result");
    expect(heard.at(-1)).toMatchObject({ kind: "tool_late_result", outcome: "returned", content: "late", seconds: 10 });
    expect(heard.at(-1)?.seq).toBe(heard.length - 1);
  });

  it("what follows a verdict is live only, since how much of it a run still sees is chance", async () => {
    const seen: string[][] = [];
    for (const seconds of [0.03, 0.08]) {
      const provider = new ScriptedProvider(calls({ id: "a", name: "late" }, { id: "b", name: "other" }), say("done"));
      const tools = [tool("late", takes(0.05)), tool("other", takes(seconds))];
      const { runner, clock, heard } = setUp(provider, tools, { concurrency: { perToolSeconds: { late: 0.02 } } });
      const running = runner.run(agent("planner"), "Go.");
      await clock.advance(0.1);
      seen.push(kinds((await clock.promptly(running)).events));
      expect(kinds(heard)).toContain("tool_late_result");
    }
    expect(seen[0]).toEqual(seen[1]);
    expect(seen[0]).not.toContain("tool_late_result");
  });
});

function callLines(path: string, callId: string, asked: string, failure?: string): string[] {
  return [
    `${path} tool_requested ${callId}: ${asked}`,
    `${path} tool_queued ${callId}: queued`,
    `${path} tool_dispatched ${callId}: dispatched`,
    `${path} tool_completed ${callId}: ${failure === undefined ? "returned" : "threw"}`,
    failure === undefined ? `${path} tool_result ${callId}: completed` : `${path} tool_error ${callId}: ${failure}`,
  ];
}

function nestedLines(path: string): string[] {
  return [
    `${path} run_started`,
    `${path} model_requested`,
    `${path} model_responded`,
    ...callLines(path, "t1_lookup_0", "asked for as call 1 of 2"),
    ...callLines(
      path,
      "t1_lookup_1",
      "asked for as call 2 of 2",
      path === "0/1.1" ? "lookup failed: no x2" : undefined,
    ),
    `${path} batch_resolved`,
    `${path} model_requested`,
    `${path} model_responded`,
    `${path} run_completed`,
  ];
}
