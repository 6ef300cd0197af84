import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { answers } from "../runner/resuming.ts";
import { agent, errorOf } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

const WHOLE = [
  { id: "a", name: "del", args: { path: "/a" } },
  { id: "b", name: "del", args: '{"path":"/b"}' },
];
/** Two whole calls, and a third of which half is there. */
const CUT = { ...calls(...WHOLE, { id: "c", name: "del", args: '{"path":"/e' }), content: "Deleting" };
const ENDINGS = [
  ["length", "the response was cut off"],
  ["refusal", "the model refused to go on"],
  ["content_filter", "the response was filtered"],
] as const;

/** `del`, about which somebody is asked before it runs, and nobody before a call that cannot run. */
function deleting(world: ReportWorld) {
  const asked: string[] = [];
  const del = world.tool("del", ({ path }) => `deleted ${path}`, { requiresApproval: true });
  const approver = ({ callId }: { callId: string }) => ({ approve: asked.push(callId) > 0 }) as { approve: true };
  return { asked, del, approver };
}

describe("Semantics 2.9: of an answer that did not come to its end no call runs, and the model is asked again", () => {
  for (const [finishReason, why] of ENDINGS) {
    for (const isStreamed of [false, true]) {
      report(
        `C28: an answer ${isStreamed ? "streamed " : ""}with ${finishReason}: its calls are answered and not run, and come again they run once`,
        { starts: { del: 2 } },
        async (world) => {
          const { asked, del, approver } = deleting(world);
          const script = new ScriptedProvider({ ...CUT, finishReason }, calls(...WHOLE), say("ok"));
          const runner = world.runner(script, [del], { approver });
          const running = isStreamed ? world.keep(runner.stream(agent("p"), "Go.").run) : world.run(runner, agent("p"));
          const run = await world.finish(running);
          expect(run).toMatchObject({ status: "completed", output: "ok" });
          expect(answers(run)).toEqual([
            ...["a", "b", "c"].map((id) => `${id}: never dispatched: ${why}`),
            "a_2: deleted /a",
            "b_2: deleted /b",
          ]);
          expect(asked).toEqual(["a_2", "b_2"]);
          // What was said and asked for stays, with half a call in a form that vendors take.
          expect(world.requests[1]?.messages[1]).toEqual({
            role: "assistant",
            content: "Deleting",
            toolCalls: [
              { id: "a", name: "del", args: { path: "/a" } },
              { id: "b", name: "del", args: { path: "/b" } },
              { id: "c", name: "del", args: { unparsed_arguments: '{"path":"/e' } },
            ],
          });
          const told = run.events.flatMap((event) => (event.kind === "model_responded" ? event.finishReason : []));
          expect(told).toEqual([finishReason, "tool_calls", "stop"]);
        },
      );
    }

    report(
      `C28: answers that go on to end with ${finishReason} end at the turn limit, with each call answered`,
      { starts: {} },
      async (world) => {
        const { asked, del, approver } = deleting(world);
        const script = new ScriptedProvider(...[1, 2, 3].map(() => ({ ...CUT, finishReason })));
        const runner = world.runner(script, [del], { approver });
        const run = await world.finish(world.run(runner, agent("p", { maxTurns: 3, onToolError: "fail_run" })));
        expect(errorOf(run).code).toBe("TURN_LIMIT_EXCEEDED");
        expect(run.results.map(({ status }) => status)).toEqual(Array(9).fill("never_dispatched"));
        expect(asked).toEqual([]);
      },
    );
  }

  report(
    "C28: a cut answer with nothing but whole calls, or with calls of tools that suspend, runs none either",
    { starts: {} },
    async (world) => {
      const { asked, del, approver } = deleting(world);
      const external = world.tool("external");
      const batch = calls(...WHOLE, { id: "x", name: "external" }, { id: "n", name: "nowhere" });
      const script = new ScriptedProvider({ ...batch, finishReason: "length" }, say("ok"));
      const run = await world.finish(world.run(world.runner(script, [del, external], { approver })));
      expect(run.status).toBe("completed");
      expect(new Set(run.results.map(({ content }) => content))).toEqual(
        new Set(["never dispatched: the response was cut off"]),
      );
      expect(asked).toEqual([]);
    },
  );

  report(
    "C28: an answer that is cut off in its text is told as such to whoever reads the run",
    { starts: {} },
    async (world) => {
      const script = new ScriptedProvider(say("Half an ans", { finishReason: "length" }));
      const run = await world.finish(world.run(world.runner(script, [])));
      expect(run).toMatchObject({ status: "completed", output: "Half an ans" });
      expect(run.events.find(({ kind }) => kind === "model_responded")).toMatchObject({ finishReason: "length" });
    },
  );
});
