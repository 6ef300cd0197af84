import { agentTool, type Decision, MemoryJournal, type Run } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { answers, approve, payments, pendingOf, verdicts } from "./resuming.ts";
import { agent, faults, setUp, tool } from "./setting.ts";

/** Every way to decide about things in groups, one group after the other. */
function orderings<T>(things: readonly T[]): T[][][] {
  if (things.length === 0) return [[]];
  const all: T[][][] = [];
  for (let chosen = 1; chosen < 2 ** things.length; chosen++) {
    const group = things.filter((_, at) => (chosen & (2 ** at)) > 0);
    const rest = things.filter((_, at) => (chosen & (2 ** at)) === 0);
    for (const behind of orderings(rest)) all.push([group, ...behind]);
  }
  return all;
}

/** The outermost run pays, has somebody research, and pays; whoever researches pays, digs and looks; who digs pays. */
function world(shared: boolean) {
  const provider = ScriptedProvider.byAgent({
    planner: [
      calls(
        { id: "p0", name: "pay", args: { sum: 0 } },
        { id: "r", name: "research", args: { input: "Kyoto" } },
        { id: "look", name: "look" },
        { id: "p3", name: "pay", args: { sum: 3 } },
      ),
      say("planned"),
    ],
    researcher: [
      calls(
        { id: "p1", name: "pay", args: { sum: 1 } },
        { id: "look", name: "look" },
        { id: "d", name: "dig", args: { input: "deeper" } },
      ),
      say("researched"),
    ],
    digger: [calls({ id: "look", name: "look" }, { id: "p2", name: "pay", args: { sum: 2 } }), say("dug")],
  });
  const { pay, ran } = payments();
  let looks = 0;
  const look = tool("look", () => `look ${++looks}`);
  const digger = agent("digger", { tools: ["look", "pay"] });
  const dig = agentTool(digger, { name: "dig", description: "Dig." });
  const researcher = agent("researcher", { tools: ["look", "pay", dig] });
  const planner = agent("planner", {
    tools: ["look", "pay", agentTool(researcher, { name: "research", description: "Research." })],
  });
  const journal = shared ? { journal: new MemoryJournal() } : {};
  // With one journal, each part of the run is on a runner that knows nothing of the others.
  const runner = () => setUp(provider, [pay, look], { agents: [planner], ...journal });
  const first = runner();
  return { provider, ran, planner, looks: () => looks, first, next: () => (shared ? runner() : first) };
}

const IDS = ["run_1/0/1.0", "run_1/0/1.1/1.0", "run_1/0/1.1/1.2/1.1", "run_1/0/1.3"] as const;

/** What is decided about each, in the order of `IDS`, and what the model that asked is told then. */
const DECISIONS: { decisions: Decision[]; paid: number[]; told: string[] }[] = [
  {
    decisions: [approve, approve, approve, approve],
    paid: [0, 1, 2, 3],
    told: ["paid 0", "paid 1", "paid 2", "paid 3"],
  },
  {
    decisions: [
      { approve: false, reason: "no" },
      { approve: true, args: { sum: 10 } },
      { result: false },
      { approve: true, args: { sum: 30 } },
    ],
    paid: [10, 30],
    told: ["never dispatched: denied: no", "paid 10", "false", "paid 30"],
  },
];

describe("Semantics 3.6, 3.7, 7.6: a run with pending calls of one tool, some in nested agents, resumes right in every order", () => {
  for (const shared of [false, true]) {
    for (const { decisions, paid, told } of DECISIONS) {
      it(`on ${shared ? "other runners that share a journal" : "its runner"}: ${JSON.stringify(decisions)}`, async () => {
        let whole: Pick<Run, "messages" | "results" | "usage"> | undefined;
        for (const groups of orderings([0, 1, 2, 3])) {
          const { provider, ran, looks, planner, first, next } = world(shared);
          const leaks = leakCheck(first.runner, { clock: first.clock, provider });
          let run: Run<unknown> = await first.clock.promptly(first.runner.run(planner, "Go."));
          const events = [...first.heard];
          for (const group of groups) {
            const left = IDS.filter((_, at) => groups.slice(groups.indexOf(group)).flat().includes(at));
            expect(pendingOf(run).map(({ id }) => id)).toEqual(left);
            const { runner, clock, heard } = next();
            const before = heard.length;
            const said = Object.fromEntries(group.map((at) => [IDS[at] as string, decisions[at] as Decision]));
            run = await clock.promptly(runner.resume(run.id, { decisions: said }));
            events.push(...heard.slice(before));
          }
          expect(run).toMatchObject({ status: "completed", output: "planned" });
          // Each body ran once, with the same key in every order.
          expect(ran.map(({ args }) => args.sum as number).sort((a, b) => a - b)).toEqual(paid);
          expect(new Set(ran.map(({ key }) => key)).size).toBe(ran.length);
          for (const { key } of ran) expect(IDS).toContain(key);
          expect(looks()).toBe(3);
          expect(faults(run)).toEqual([]);
          expect(answers(run)).toEqual([`p0: ${told[0]}`, "r: researched", "look: look 1", `p3: ${told[3]}`]);
          for (const [name, lines] of [
            ["researcher", [`p1: ${told[1]}`, "look: look 2", "d: dug"]],
            ["digger", ["look: look 3", `p2: ${told[2]}`]],
          ] as const) {
            const [, asked] = provider.requestsOf(name);
            expect(answers({ messages: asked?.messages ?? [] })).toEqual(lines);
          }
          // Every call has been told one verdict over all parts together.
          expect(Object.values(verdicts(events))).toEqual(Array(9).fill(1));
          // Six answers of models, counted once each.
          expect(run.usage).toEqual({ inputTokens: 6, outputTokens: 6, totalTokens: 12 });
          const { messages, results, usage } = run;
          whole ??= { messages, results, usage };
          expect({ messages, results, usage }).toEqual(whole);
          await leaks.done();
        }
      });
    }
  }
});
