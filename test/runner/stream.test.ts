import type { RunEvent, RunStream } from "lanekeeper";
import { breaksOff, calls, Gate, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, kinds, setUp, tool, untilStopped } from "./setting.ts";

async function all(stream: RunStream): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe("Semantics 2.3, 8: a stream tells a run as it happens", () => {
  it("in live order, as onEvent hears it, and ends with the run", async () => {
    const gate = new Gate();
    const provider = new ScriptedProvider(calls({ hold: { q: "a" } }, { hold: { q: "b" } }), say("done"));
    const { runner, clock, heard } = setUp(provider, [tool("hold", ({ q }) => gate.wait(q as string))]);
    const leaks = leakCheck(runner, { clock, provider });
    const stream = runner.stream(agent("planner"), "Go.", { tenant: "acme" });
    const reading = all(stream);
    await clock.promptly(gate.arrived("b"));
    gate.open("b");
    await clock.settle();
    gate.open("a");
    const events = await clock.promptly(reading);
    expect(events).toEqual(heard);
    const ended = events.flatMap((event) => (event.kind === "tool_completed" ? event.position : []));
    expect(ended).toEqual([1, 0]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at));
    expect(await stream.run).toMatchObject({ status: "completed", output: "done" });
    await leaks.done();
  });

  it("text deltas come where the provider streams, add up to the answer, and are never in run.events", async () => {
    const provider = new ScriptedProvider(
      { ...calls({ search: {} }), content: "Looking it up." },
      say("Found it in Kyoto."),
    );
    const { runner, clock } = setUp(provider, [tool("search", () => "found")]);
    const leaks = leakCheck(runner, { clock, provider });
    const stream = runner.stream(agent("planner"), "Go.");
    const events = await all(stream);
    const text = (turn: number) =>
      events.flatMap((event) => (event.kind === "text_delta" && event.turn === turn ? event.text : [])).join("");
    expect([text(1), text(2)]).toEqual(["Looking it up.", "Found it in Kyoto."]);
    const run = await stream.run;
    expect(kinds(run.events)).not.toContain("text_delta");
    // Streamed or not, the run is the same.
    const plain = new ScriptedProvider(
      { ...calls({ search: {} }), content: "Looking it up." },
      say("Found it in Kyoto."),
    );
    const other = await setUp(plain, [tool("search", () => "found")]).runner.run(agent("planner"), "Go.");
    expect({ ...run, events: kinds(run.events) }).toEqual({ ...other, events: kinds(other.events) });
    await leaks.done();
  });

  it("without a provider that streams the rest is the same", async () => {
    const provider = new ScriptedProvider(say("done"));
    const plain = { name: "plain", generate: provider.generate.bind(provider) };
    const { runner } = setUp(plain, []);
    expect(kinds(await all(runner.stream(agent("planner"), "Go.")))).toEqual([
      "run_started",
      "model_requested",
      "model_responded",
      "run_completed",
    ]);
  });

  it("leaving early cancels the run, and goes on when it has settled", async () => {
    const provider = new ScriptedProvider(calls({ hold: {} }));
    const { runner, clock } = setUp(provider, [tool("hold", untilStopped)]);
    const leaks = leakCheck(runner, { clock, provider });
    const stream = runner.stream(agent("planner"), "Go.");
    let settled = false;
    void stream.run.then(() => {
      settled = true;
    });
    for await (const event of stream) if (event.kind === "tool_dispatched") break;
    expect(settled).toBe(true);
    const run = await stream.run;
    expect(errorOf(run)).toMatchObject({ code: "CANCELLED", message: "the run was cancelled: its stream was left" });
    expect(run.results).toMatchObject([{ status: "indeterminate" }]);
    expect(faults(run)).toEqual([]);
    await leaks.done();
  });

  it("leaving after the end cancels nothing, and a run that nobody reads goes on all the same", async () => {
    const provider = new ScriptedProvider(say("one"), say("two"));
    const { runner } = setUp(provider, []);
    const unread = runner.stream(agent("planner"), "Go.");
    expect((await unread.run).status).toBe("completed");
    for await (const event of unread) if (event.kind === "run_started") break;
    const read = runner.stream(agent("planner"), "Go.");
    for await (const event of read) if (event.kind === "run_completed") break;
    expect((await read.run).status).toBe("completed");
  });

  it("has one reader, who may ask for several events at once", async () => {
    const provider = new ScriptedProvider(() => new Promise((resolve) => setImmediate(() => resolve(say("done")))));
    const { runner, clock } = setUp(provider, []);
    const stream = runner.stream(agent("planner"), "Go.");
    const reader = stream[Symbol.asyncIterator]();
    expect(() => stream[Symbol.asyncIterator]()).toThrow(/^stream: expected one reader, got a second/);
    const asked = Array.from({ length: 6 }, () => reader.next());
    const events = await clock.promptly(Promise.all(asked));
    expect(events.map(({ value }) => value?.kind)).toEqual([
      "run_started",
      "model_requested",
      "text_delta",
      "model_responded",
      "run_completed",
      undefined,
    ]);
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  it("a model stream that breaks half way fails the run, and runs no call of it", async () => {
    let ran = 0;
    for (const afterPieces of [0, 1, 4, 99]) {
      const broken = breaksOff(
        { ...calls({ book: { q: "x" } }), content: "Let me book." },
        afterPieces,
        new Error("lost"),
      );
      const provider = new ScriptedProvider(broken);
      const { runner, clock } = setUp(provider, [tool("book", () => ++ran)]);
      const leaks = leakCheck(runner, { clock, provider });
      const stream = runner.stream(agent("planner"), "Go.");
      await all(stream);
      const run = await stream.run;
      expect(errorOf(run)).toMatchObject({ code: "PROVIDER", message: "scripted: lost" });
      expect(run.messages).toEqual([{ role: "user", content: "Go." }]);
      await leaks.done();
    }
    expect(ran).toBe(0);
  });

  it("a stream that ends without its response fails the run; one that is left is told so", async () => {
    for (const [ending, message] of [
      ["ends", /expected an end of the stream with its response, got none/],
      ["is cancelled", /^the run was cancelled by its signal$/],
    ] as const) {
      const gate = new Gate();
      let returned = 0;
      const provider = {
        name: "own",
        generate: () => Promise.reject(new Error("never asked")),
        stream: () => ({
          [Symbol.asyncIterator]: () => ({
            next: async () => {
              await gate.wait("next");
              return { done: ending === "ends", value: undefined } as never;
            },
            return: () => {
              returned++;
              throw new Error("thrown at once");
            },
          }),
        }),
      };
      const { runner, clock } = setUp(provider, []);
      const controller = new AbortController();
      const leaks = leakCheck(runner, { clock, signal: controller.signal });
      const stream = runner.stream(agent("planner"), "Go.", { signal: controller.signal });
      await clock.promptly(gate.arrived("next"));
      if (ending === "ends") gate.open("next");
      else controller.abort();
      expect(errorOf(await clock.promptly(stream.run)).message).toMatch(message);
      expect(returned).toBe(ending === "ends" ? 0 : 1);
      await leaks.done();
    }
  });

  it("a provider whose stream throws while it is closed has answered all the same", async () => {
    const provider = {
      name: "own",
      generate: () => Promise.reject(new Error("never asked")),
      stream: () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => Promise.resolve({ done: false, value: { type: "end", response: say("whole") } } as never),
          return: () => {
            throw new Error("closing failed");
          },
        }),
      }),
    };
    const { runner } = setUp(provider, []);
    expect(await runner.stream(agent("planner"), "Go.").run).toMatchObject({ status: "completed", output: "whole" });
  });

  it("below a call a stream tells the nested run only, and leaving it stops that run alone", async () => {
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: {} }), say("done")],
      worker: [calls({ hold: {} })],
    });
    const seen: string[] = [];
    const made = setUp(provider, [
      tool("hold", untilStopped),
      tool("sub", async () => {
        const stream = made.runner.stream(agent("worker", { tools: ["hold"] }), "Go.");
        for await (const { path, kind } of stream) {
          seen.push(path);
          if (kind === "tool_dispatched") break;
        }
        return (await stream.run).status;
      }),
    ]);
    const { runner, clock } = made;
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(run).toMatchObject({ status: "completed", results: [{ content: "cancelled" }] });
    expect(new Set(seen)).toEqual(new Set(["0/1.0"]));
    await leaks.done();
  });

  it("what could never work is thrown at once", () => {
    const { runner } = setUp(undefined, []);
    expect(() => runner.stream(agent("planner"), "Go.")).toThrow(/provider: expected one there or on the runner/);
  });

  it("gives nothing more to a reader who has left", async () => {
    const { runner } = setUp(new ScriptedProvider(say("done")), []);
    const stream = runner.stream(agent("planner"), "Go.");
    const reader = stream[Symbol.asyncIterator]();
    expect((await reader.next()).value).toMatchObject({ kind: "run_started" });
    await reader.return?.();
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });
});
