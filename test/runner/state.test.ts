import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, outcomes, setUp, takes, tool } from "./setting.ts";

const note = (seconds = 0) =>
  tool("note", async ({ text, fail }, ctx) => {
    if (seconds > 0) await takes(seconds - Number(text) / 100)({}, ctx);
    ctx.state.set("notes", [text]);
    ctx.state.set("last", text);
    if (fail === true) throw new Error("failed");
    return JSON.stringify(ctx.state);
  });

const notes = { initial: ["0"], reduce: (old: string[], next: string[]) => [...old, ...next] };

describe("Semantics 6: a run has a state; calls see it as of their phase's start, deltas are merged in call order", () => {
  it("starts from what the agent declares, or from what the run is given, and ends in run.state", async () => {
    const provider = new ScriptedProvider(say("a"), say("b"));
    const { runner } = setUp(provider, []);
    const planner = agent("planner", { state: { notes, count: { initial: 0 }, empty: {} } });
    expect((await runner.run(planner, "Go.")).state).toEqual({ notes: ["0"], count: 0 });
    const given = { count: 5, more: { deep: [1] } };
    const { state } = await runner.run(planner, "Go.", { state: given });
    expect(state).toEqual({ notes: ["0"], count: 5, more: { deep: [1] } });
    given.more.deep.push(2);
    expect(state.more).toEqual({ deep: [1] });
  });

  it("reducers combine the writes of one phase in call order, whoever finished first; else the later call wins", async () => {
    const provider = new ScriptedProvider(
      calls({ note: { text: "1" } }, { note: { text: "2" } }, { note: { text: "3" } }),
      calls({ note: { text: "4" } }),
      say("done"),
    );
    const { runner, clock } = setUp(provider, [note(0.1)]);
    clock.autoAdvance = true;
    const leaks = leakCheck(runner, { clock, provider });
    const run = await runner.run(agent("planner", { state: { notes } }), "Go.");
    expect(run.state).toEqual({ notes: ["0", "1", "2", "3", "4"], last: "4" });
    // Each read its own writes and not its siblings'; the later turn sees what was merged.
    expect(outcomes(run)).toEqual([
      't1_note_0 ok: {"notes":["1"],"last":"1"}',
      't1_note_1 ok: {"notes":["2"],"last":"2"}',
      't1_note_2 ok: {"notes":["3"],"last":"3"}',
      't2_note_0 ok: {"notes":["4"],"last":"4"}',
    ]);
    await leaks.done();
  });

  it("a failed call's delta is dropped, as if it had never written", async () => {
    const provider = new ScriptedProvider(
      calls({ note: { text: "1" } }, { note: { text: "2", fail: true } }),
      say("done"),
    );
    const { runner } = setUp(provider, [note()]);
    const run = await runner.run(agent("planner", { state: { notes } }), "Go.");
    expect(run.state).toEqual({ notes: ["0", "1"], last: "1" });
  });

  it("a reducer that throws fails the call whose delta it was combining, and no other", async () => {
    const provider = new ScriptedProvider(
      calls({ note: { text: "1" } }, { note: { text: "bad" } }, { note: { text: "3" } }),
      say("done"),
    );
    const { runner, clock } = setUp(provider, [note()]);
    const leaks = leakCheck(runner, { clock, provider });
    const reduce = (old: string[], [next]: [string]) => {
      if (next === "bad") throw new Error("bad note");
      return [...old, next];
    };
    const run = await runner.run(agent("planner", { state: { notes: { initial: [], reduce } } }), "Go.");
    expect(run.status).toBe("completed");
    expect(run.results.map(({ status }) => status)).toEqual(["ok", "error", "ok"]);
    expect(run.results[1]).toMatchObject({
      content: "a reducer of the run's state failed: bad note. The side effect may have landed.",
      mayHaveLanded: true,
    });
    expect(run.state).toEqual({ notes: ["1", "3"], last: "3" });
    await leaks.done();
  });

  it("a nested run has a state of its own", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: {} }), say("done")],
      worker: [calls({ note: { text: "below" } }), say("ok")],
    });
    const worker = agent("worker", { tools: ["note"], state: { notes: { initial: [] } } });
    const { runner } = setUp(provider, [
      note(),
      tool("sub", async (_, ctx) => {
        const below = await ctx.run(worker, "Go.", { state: { given: 1 } });
        return JSON.stringify([below.state, ctx.state]);
      }),
    ]);
    const run = await runner.run(agent("planner", { state: { notes } }), "Go.");
    expect(outcomes(run)).toEqual(['t1_sub_0 ok: [{"notes":["below"],"given":1,"last":"below"},{"notes":["0"]}]']);
    expect(run.state).toEqual({ notes: ["0"] });
  });

  it("what resolved before the run stopped is merged", async () => {
    const provider = new ScriptedProvider(calls({ note: { text: "1" } }, { slow: {} }));
    const { runner, clock } = setUp(provider, [note(), tool("slow", takes(9))], { deadlines: { runSeconds: 1 } });
    const running = runner.run(agent("planner", { state: { notes } }), "Go.");
    await clock.advance(1);
    expect((await running).state).toEqual({ notes: ["0", "1"], last: "1" });
  });

  it("a reducer that stops the run is still followed by the calls behind its own, in call order", async () => {
    for (const gated of [false, true]) {
      const controller = new AbortController();
      const stopping = {
        initial: ["0"],
        reduce: (old: string[], next: string[]) => {
          controller.abort();
          return [...old, ...next];
        },
      };
      const provider = new ScriptedProvider(calls({ note: { text: "1" } }, { note: { text: "2" } }));
      const hooks = gated ? [{ name: "look", afterTool: () => {} }] : [];
      const { runner, clock } = setUp(provider, [note()], { hooks });
      const planner = agent("planner", { state: { notes: stopping } });
      const run = await clock.promptly(runner.run(planner, "Go.", { signal: controller.signal }));
      expect(run.status).toBe("cancelled");
      expect(run.state).toEqual({ notes: ["0", "1", "2"], last: "2" });
      expect(run.results.map(({ status }) => status)).toEqual(["ok", "ok"]);
    }
  });

  it("a reducer that stops the run and throws fails its call", async () => {
    const controller = new AbortController();
    const breaking = {
      initial: [],
      reduce: () => {
        controller.abort();
        throw new Error("no");
      },
    };
    const provider = new ScriptedProvider(calls({ id: "a", name: "note", args: { text: "1" } }));
    const { runner, clock } = setUp(provider, [note()]);
    const run = await clock.promptly(
      runner.run(agent("planner", { state: { notes: breaking } }), "Go.", { signal: controller.signal }),
    );
    expect(run.results.map(({ status, mayHaveLanded }) => [status, mayHaveLanded])).toEqual([["error", true]]);
    expect(run.state).toEqual({ notes: [] });
  });
});
