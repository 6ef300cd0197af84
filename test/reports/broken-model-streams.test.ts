import { agentTool, type ModelProvider, type ModelResponse, type Run } from "lanekeeper";
import { breaksOff, calls, ScriptedProvider, type ScriptStep, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, errorOf } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

const LOST = new Error("connection lost");

/** A provider that begins again by itself when its answer breaks, and takes back nothing that it has streamed. */
function beginsAgain(script: ScriptedProvider): ModelProvider {
  return {
    name: "begins-again",
    generate: (request, call) => script.generate(request, call).catch(() => script.generate(request, call)),
    async *stream(request, call) {
      try {
        yield* script.stream(request, call);
      } catch {
        yield* script.stream(request, call);
      }
    },
  };
}

const send = (id: string, to: string) => ({ id, name: "send", args: { to } });

/** What the first attempt streams: text, two calls with arguments in pieces, and the end. */
const FIRST: ModelResponse = { ...calls(send("a", "ann"), send("b", "bob")), content: "Sending." };
/** Pieces of it: one of text, four of each call, and the end. */
const PIECES = 10;

/** `send`, and the arguments that its bodies were given. */
function mail(world: ReportWorld) {
  const sent: unknown[] = [];
  return { sent, send: world.tool("send", ({ to }) => sent.push(to) && `sent to ${to}`) };
}

/** What came of a run, but for which run it was. */
const told = ({ messages, events, results, usage }: Run) => ({
  messages,
  events: events.map((event) => ({ ...event, runId: "" })),
  results,
  usage,
});

describe("Semantics 8: a model stream that breaks half way and is retried never runs a call of both attempts", () => {
  for (const [what, second, sends] of [
    ["the same calls under the same ids", FIRST, ["ann", "bob"]],
    ["the same calls under other ids", { ...FIRST, ...calls(send("c", "ann"), send("d", "bob")) }, ["ann", "bob"]],
    ["one of the ids for another call", calls(send("b", "cleo")), ["cleo"]],
    ["no calls", say("Nothing to send."), []],
  ] as const) {
    report(
      `C14: wherever the stream breaks, a second attempt with ${what} is all that counts`,
      { starts: sends.length === 0 ? {} : { send: sends.length * (PIECES + 1) } },
      async (world) => {
        const { sent, send } = mail(world);
        const rest = sends.length === 0 ? [] : [say("ok")];
        const broken = Array.from({ length: PIECES }, (_, pieces) => breaksOff(FIRST, pieces, LOST));
        const script = new ScriptedProvider(
          ...[undefined, ...broken].flatMap((first): ScriptStep[] =>
            first === undefined ? [second, ...rest] : [first, second, ...rest],
          ),
        );
        const runner = world.runner(beginsAgain(script), [send]);
        const unbroken = await world.keep(runner.stream(agent("planner"), "Go.").run);
        expect(sent).toEqual(sends);
        for (let pieces = 0; pieces < PIECES; pieces++) {
          const run = await world.keep(runner.stream(agent("planner"), "Go.").run);
          expect(told(run), `broken after ${pieces} pieces`).toEqual(told(unbroken));
        }
        expect(sent).toEqual([unbroken, ...broken].flatMap(() => sends));
        script.assertFinished();
      },
    );
  }

  report(
    "C14: below an agent that is a tool it is the same, and the calls beside it do not notice",
    { starts: { send: 3 } },
    async (world) => {
      const { sent, send: sending } = mail(world);
      const script = ScriptedProvider.byAgent({
        planner: [calls(send("x", "xu"), { id: "h", name: "helper", args: { input: "Go." } }), say("ok")],
        helper: [breaksOff(FIRST, 7, LOST), FIRST, say("all sent")],
      });
      const helper = agentTool(agent("helper", { tools: ["send"] }), { description: "Helps." });
      const runner = world.runner(beginsAgain(script), [sending]);
      const run = await world.keep(runner.stream(agent("planner", { tools: ["send", helper] }), "Go.").run);
      expect(run.results.map(({ content }) => content)).toEqual(["sent to xu", "all sent"]);
      expect(sent.sort()).toEqual(["ann", "bob", "xu"]);
      script.assertFinished();
    },
  );

  report("C14: what comes after the end of an answer is none of it", { starts: { send: 2 } }, async (world) => {
    const { sent, send: sending } = mail(world);
    const script = new ScriptedProvider(FIRST, say("ok"));
    const provider: ModelProvider = {
      ...beginsAgain(script),
      async *stream(request, call) {
        yield* script.stream(request, call);
        yield { type: "end", response: calls(send("c", "cleo")) };
        throw LOST;
      },
    };
    const run = await world.keep(world.runner(provider, [sending]).stream(agent("planner"), "Go.").run);
    expect(run.results.map(({ callId }) => callId)).toEqual(["a", "b"]);
    expect(sent).toEqual(["ann", "bob"]);
    script.assertFinished();
  });

  report(
    "C14: a stream that breaks and is not retried ends the run with nothing of it; asked again, each call runs once",
    { starts: { send: 2 } },
    async (world) => {
      const { sent, send } = mail(world);
      const broken = Array.from({ length: PIECES }, (_, pieces) => breaksOff(FIRST, pieces, LOST));
      const runner = world.runner(new ScriptedProvider(...broken, FIRST, say("ok")), [send]);
      let messages = "Go." as Parameters<typeof runner.stream>[1];
      for (let pieces = 0; pieces < PIECES; pieces++) {
        const run = await world.keep(runner.stream(agent("planner"), messages).run);
        expect(errorOf(run)).toMatchObject({ code: "PROVIDER", cause: LOST });
        expect(run.messages).toEqual([{ role: "user", content: "Go." }]);
        expect(run.events.map(({ kind }) => kind)).toEqual(["run_started", "model_requested", "run_failed"]);
        messages = run.messages;
      }
      expect(sent).toEqual([]);
      await world.keep(runner.stream(agent("planner"), messages).run);
      expect(sent).toEqual(["ann", "bob"]);
    },
  );
});
