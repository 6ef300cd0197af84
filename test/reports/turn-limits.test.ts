import { agentTool, MemoryJournal, type Message, type Run } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { about, answers, approve } from "../runner/resuming.ts";
import { agent, errorOf } from "../runner/setting.ts";
import { report } from "./report-world.ts";

const pay = (id: string) => ({ id, name: "pay", args: { sum: id } });
const at = (turns: number): string => `never dispatched: the run's limit of ${turns} turns was reached`;
const more = ({ messages }: Pick<Run, "messages">): Message[] => [...messages, { role: "user", content: "Go on." }];

describe("Semantics 2.11: at the turn limit what was asked for is answered and not run, and the transcript is whole", () => {
  for (const maxTurns of [1, 2]) {
    report(
      `C52: with ${maxTurns} turns the calls of the last are answered and nobody is asked about them; a second run goes on from there`,
      { starts: { pay: 2 * (maxTurns - 1) + 1 } },
      async (world) => {
        const asked: string[] = [];
        const paying = world.tool("pay", ({ sum }) => `paid ${sum}`, { requiresApproval: true });
        const turns = Array.from({ length: maxTurns }, (_, turn) => calls(pay(`a${turn + 1}`), pay(`b${turn + 1}`)));
        const script = new ScriptedProvider(...turns, calls(pay("c")), say("ok"));
        const runner = world.runner(script, [paying], {
          approver: ({ callId }) => ({ approve: asked.push(callId) > 0 }) as { approve: true },
        });
        const first = await world.finish(world.run(runner, agent("planner", { maxTurns })));
        expect(errorOf(first)).toMatchObject({ code: "TURN_LIMIT_EXCEEDED", maxTurns });
        const paid = maxTurns === 1 ? [] : ["a1: paid a1", "b1: paid b1"];
        const told = [...paid, `a${maxTurns}: ${at(maxTurns)}`, `b${maxTurns}: ${at(maxTurns)}`];
        expect(answers(first)).toEqual(told);
        const second = await world.finish(world.run(runner, agent("planner", { maxTurns: 2 }), more(first)));
        expect(second).toMatchObject({ status: "completed", output: "ok" });
        expect(answers(second)).toEqual([...told, "c: paid c"]);
        expect(second.messages.slice(0, first.messages.length)).toEqual(first.messages);
        expect(asked).toEqual([...paid.map((line) => line.slice(0, 2)), "c"]);
      },
    );
  }

  report(
    "C52: bad calls, calls that would suspend and an approver that fails run are all answered alike at the limit",
    { starts: {} },
    async (world) => {
      const tools = [world.tool("pay", () => "paid"), world.tool("external")];
      const script = new ScriptedProvider(
        calls(
          pay("a"),
          { id: "b", name: "nowhere" },
          { id: "c", name: "pay", args: "{" },
          { id: "d", name: "external" },
        ),
      );
      const runner = world.runner(script, tools, { journal: new MemoryJournal() });
      const run = await world.finish(world.run(runner, agent("planner", { maxTurns: 1, onToolError: "fail_run" })));
      expect(errorOf(run).code).toBe("TURN_LIMIT_EXCEEDED");
      expect(answers(run)).toEqual(["a", "b", "c", "d"].map((id) => `${id}: ${at(1)}`));
    },
  );

  report(
    "C52: the limit of an agent that is a tool fails its own call, and what ran below it is not forgotten",
    { starts: { pay: 2 } },
    async (world) => {
      const paying = world.tool("pay", ({ sum }) => `paid ${sum}`);
      const script = ScriptedProvider.byAgent({
        planner: [calls({ id: "h", name: "helper", args: { input: "Go." } }, pay("x")), say("ok")],
        helper: [calls(pay("p")), calls(pay("q"))],
      });
      const helper = agentTool(agent("helper", { tools: ["pay"], maxTurns: 2 }), { description: "Helps." });
      const runner = world.runner(script, [paying]);
      const run = await world.finish(world.run(runner, agent("planner", { tools: ["pay", helper], maxTurns: 2 })));
      expect(run.status).toBe("completed");
      expect(run.results.map(({ status, content }) => `${status}: ${content}`)).toEqual([
        expect.stringMatching(/^error: helper failed: .*2 turns/),
        "ok: paid x",
      ]);
      const below = world.heard.flatMap((event) =>
        event.path === "0/1.0" && "callId" in event ? `${event.callId} ${event.kind}` : [],
      );
      expect(below.filter((line) => /_result|_error/.test(line))).toEqual(["p tool_result", "q tool_error"]);
    },
  );

  report("C52: turns before a run was suspended count when it is resumed", { starts: { pay: 1 } }, async (world) => {
    const planner = agent("planner", { maxTurns: 2 });
    const paying = world.tool("pay", ({ sum }) => `paid ${sum}`, { requiresApproval: true });
    const script = new ScriptedProvider(calls(pay("a")), calls(pay("b")));
    const runner = world.runner(script, [paying], { agents: [planner], journal: new MemoryJournal() });
    const first = await world.finish(world.run(runner, planner));
    const resuming = runner.resume(first.id, { decisions: about(first, approve) }) as Promise<Run>;
    const run = await world.finish(world.keep(resuming));
    expect(errorOf(run).code).toBe("TURN_LIMIT_EXCEEDED");
    expect(answers(run)).toEqual(["a: paid a", `b: ${at(2)}`]);
  });
});
