import type { InstructionsContext } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, setUp, tool } from "./setting.ts";

describe("Semantics 2.1: instructions may be a function, which is asked in every turn", () => {
  it("is told on whose behalf and how far the run is, with a copy of its state", async () => {
    const asked: unknown[] = [];
    const instructions = async ({ tenant, turn, state, context, path }: InstructionsContext) => {
      asked.push({ tenant, turn, state: structuredClone(state), context, path });
      state.spoiled = true;
      return `turn ${turn}`;
    };
    const provider = new ScriptedProvider(calls({ note: {} }), say("done"));
    const { runner, clock } = setUp(provider, [tool("note", (_, ctx) => ctx.state.set("noted", true))]);
    const leaks = leakCheck(runner, { clock, provider });
    const planner = agent("planner", { instructions });
    const run = await clock.promptly(runner.run(planner, "Go.", { tenant: "acme", context: "mine" }));
    const seen = { tenant: "acme", context: "mine", path: "0" };
    expect(asked).toEqual([
      { ...seen, turn: 1, state: {} },
      { ...seen, turn: 2, state: { noted: true } },
    ]);
    expect(provider.requests.map((request) => request.instructions)).toEqual(["turn 1", "turn 2"]);
    expect(run.state).toEqual({ noted: true });
    await leaks.done();
  });

  it.each([
    ["throws", () => Promise.reject(new Error("no words")), "expected a text, but it threw: no words"],
    ["gives no text", () => 5 as never, "expected a text, got 5"],
  ])("one that %s fails the run, and no model is asked", async (_, instructions, says) => {
    const provider = new ScriptedProvider();
    const { runner, clock } = setUp(provider, []);
    const run = await clock.promptly(runner.run(agent("planner", { instructions }), "Go."));
    expect(errorOf(run)).toMatchObject({ code: "CONFIGURATION", message: `agent "planner".instructions: ${says}` });
    expect(provider.requests).toEqual([]);
  });

  it("one that never answers is ended with the run, and its signal aborts", async () => {
    const signals: AbortSignal[] = [];
    const controller = new AbortController();
    const { runner, clock } = setUp(new ScriptedProvider(), []);
    const never = ({ signal }: InstructionsContext) => {
      signals.push(signal);
      return new Promise<string>(() => {});
    };
    const running = runner.run(agent("planner", { instructions: never }), "Go.", { signal: controller.signal });
    await clock.settle();
    controller.abort();
    expect((await clock.promptly(running)).status).toBe("cancelled");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});
