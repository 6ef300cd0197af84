import type { Approver, Hook, Run, RunEvent } from "lanekeeper";
import { calls, Deferred, Gate, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, kinds, outcomes, setUp, takes, tool } from "./setting.ts";
import { ends, StreamingModel, streamed } from "./streaming.ts";

const EAGER = { dispatch: "eager" } as const;
const again = { idempotent: true } as const;

/** Three searches and how they are streamed. */
const asked = calls(
  { id: "a", name: "search", args: { q: "a" } },
  { id: "b", name: "search", args: { q: "b" } },
  { id: "c", name: "search", args: { q: "c" } },
);
const [a, b, c] = asked.toolCalls.map(streamed) as [ReturnType<typeof streamed>, ...ReturnType<typeof streamed>[]];
const rest = [...(b ?? []), ...(c ?? [])];
const done = [ends(say("done"))];

/** Searches that wait at a gate under what they search for. */
function searches() {
  const gate = new Gate<string>();
  return { gate, search: tool("search", ({ q }, { signal }) => gate.wait(String(q), { signal }), again) };
}

describe("Semantics 3.10: eager dispatch, while later calls stand before their gates", () => {
  it("a call goes out when its own gates have passed, and a person is still asked about one at a time", async () => {
    const answered = [new Deferred<void>(), new Deferred<void>()];
    const shown: string[] = [];
    const approver: Approver = async ({ callId }) => {
      shown.push(callId);
      await answered[shown.length - 1]?.promise;
      return { approve: true };
    };
    const gate = new Gate<string>();
    const body = (_: unknown, { callId }: { callId: string }) => gate.wait(callId);
    const provider = new ScriptedProvider(
      calls({ id: "a", name: "read" }, { id: "b", name: "pay" }, { id: "c", name: "pay" }, { id: "d", name: "read" }),
      say("ok"),
    );
    const pay = tool("pay", body, { requiresApproval: true });
    const { runner, clock, heard } = setUp(provider, [tool("read", body), pay], { ...EAGER, approver });
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    expect([gate.waiting, shown]).toEqual([["a"], ["b"]]);
    answered[0]?.resolve();
    await clock.settle();
    expect([gate.waiting, shown]).toEqual([
      ["a", "b"],
      ["b", "c"],
    ]);
    gate.open("b", "paid b");
    answered[1]?.resolve();
    await clock.settle();
    expect(gate.waiting).toEqual(["a", "c", "d"]);
    for (const [id, said] of [
      ["d", "read d"],
      ["c", "paid c"],
      ["a", "read a"],
    ] as const)
      gate.open(id, said);
    const run = await clock.promptly(running);
    expect(outcomes(run)).toEqual(["a ok: read a", "b ok: paid b", "c ok: paid c", "d ok: read d"]);
    expect(
      heard.filter(({ kind }) => kind === "tool_dispatched").map((event) => "callId" in event && event.callId),
    ).toEqual(["a", "b", "c", "d"]);
    await leaks.done();
  });

  it("a call that is not parallel-safe waits for those before it, and those after it for that; gates go on meanwhile", async () => {
    const gate = new Gate<string>();
    const gated: string[] = [];
    const body = (_: unknown, { callId }: { callId: string }) => gate.wait(callId);
    const hook: Hook = { name: "watch", beforeTool: ({ id }) => void gated.push(id) };
    const provider = new ScriptedProvider(
      calls(
        { id: "a", name: "read" },
        { id: "W", name: "write" },
        { id: "b", name: "read" },
        { id: "c", name: "read" },
      ),
      say("ok"),
    );
    const { runner, clock } = setUp(provider, [tool("read", body), tool("write", body, { parallelSafe: false })], {
      ...EAGER,
      hooks: [hook],
    });
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    expect([gate.waiting, gated]).toEqual([["a"], ["a", "W", "b", "c"]]);
    gate.open("a", "");
    await clock.settle();
    expect(gate.waiting).toEqual(["W"]);
    gate.open("W", "");
    await clock.settle();
    expect(gate.waiting).toEqual(["b", "c"]);
    gate.openAll("");
    expect(outcomes(await clock.promptly(running))).toEqual(["a ok: ", "W ok: ", "b ok: ", "c ok: "]);
  });

  it("no gate is asked beside another: output gates wait for an open input gate", async () => {
    const asking = new Gate<void>();
    const open = new Set<string>();
    const overlaps: string[] = [];
    const alone = async (label: string): Promise<void> => {
      if (open.size > 0) overlaps.push(`${label} beside ${[...open]}`);
      open.add(label);
      await asking.wait(label);
      open.delete(label);
    };
    const hook: Hook = {
      name: "watch",
      beforeTool: ({ id }) => alone(`before ${id}`),
      afterTool: ({ id }) => alone(`after ${id}`),
    };
    const provider = new ScriptedProvider(
      calls({ id: "a", name: "read" }, { id: "W", name: "write" }, { id: "b", name: "read" }),
      say("ok"),
    );
    const tools = [tool("read", () => "read"), tool("write", () => "wrote", { parallelSafe: false })];
    const { runner, clock } = setUp(provider, tools, { ...EAGER, hooks: [hook] });
    const running = runner.run(agent("planner"), "Go.");
    const order: string[] = [];
    for (let turn = 0; turn < 6; turn++) {
      await clock.settle();
      order.push(...asking.waiting);
      asking.openAll();
    }
    expect(outcomes(await clock.promptly(running))).toEqual(["a ok: read", "W ok: wrote", "b ok: read"]);
    expect(overlaps).toEqual([]);
    expect(order).toEqual(["before a", "before W", "before b", "after a", "after W", "after b"]);
  });

  it("the ceiling on the tool phase stands still while only a person is waited for, and runs while a body works", async () => {
    const answered = new Deferred<void>();
    const approver: Approver = () => answered.promise.then(() => ({ approve: true as const }));
    const provider = () =>
      new ScriptedProvider(calls({ id: "a", name: "read" }, { id: "b", name: "pay" }), () => say("ok"));
    const play = (seconds: number) => {
      const pay = tool("pay", () => "paid", { requiresApproval: true });
      const options = { ...EAGER, approver, deadlines: { toolCallSeconds: 10 } };
      const { runner, clock } = setUp(provider(), [tool("read", takes(seconds)), pay], options);
      return { clock, running: runner.run(agent("planner"), "Go.") };
    };
    const slow = play(11);
    await slow.clock.advance(10);
    expect(errorOf(await slow.clock.promptly(slow.running)).code).toBe("DEADLINE_EXCEEDED");
    const quick = play(9);
    await quick.clock.advance(1_000);
    answered.resolve();
    expect((await quick.clock.promptly(quick.running)).status).toBe("completed");
  });

  it("a guardrail that ends the run stops what is in flight, and says so", async () => {
    const { gate, search } = searches();
    const guardrails = [
      { name: "no c", before: ({ id }: { id: string }) => (id === "c" ? { endRun: "not c" } : undefined) },
    ];
    const { runner, clock } = setUp(new ScriptedProvider(asked), [search], { ...EAGER, guardrails });
    const leaks = leakCheck(runner, { clock });
    const running = runner.run(agent("planner"), "Go.");
    const run = await clock.promptly(running);
    expect(errorOf(run).code).toBe("GUARDRAIL_VIOLATION");
    const why = errorOf(run).message;
    expect(outcomes(run)).toEqual([
      `a error: stopped in flight: ${why}. Safe to call again.`,
      `b error: stopped in flight: ${why}. Safe to call again.`,
      `c never_dispatched: never dispatched: ${why}`,
    ]);
    expect(gate.waiting).toEqual([]);
    expect(faults(run)).toEqual([]);
    await leaks.done();
  });
});

describe("Semantics 3.10: eager dispatch, while the model still streams", () => {
  it("idempotent, parallel-safe calls go out at once; others when the response is whole; results in call order", async () => {
    const gate = new Gate<string>();
    const body = (_: unknown, { callId }: { callId: string }) => gate.wait(callId);
    const response = calls(
      { id: "p", name: "pay", args: { x: 1 } },
      { id: "a", name: "search", args: { x: 1 } },
      { id: "W", name: "write", args: { x: 1 } },
      { id: "b", name: "search", args: { x: 1 } },
    );
    const whole = new Deferred<void>();
    const model = new StreamingModel([...response.toolCalls.flatMap(streamed), whole.promise, ends(response)], done);
    const tools = [
      tool("pay", body),
      tool("search", body, again),
      tool("write", body, { ...again, parallelSafe: false }),
    ];
    const { runner, clock, heard } = setUp(model, tools, EAGER);
    const leaks = leakCheck(runner, { clock });
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    expect(gate.waiting).toEqual(["a"]);
    expect(kinds(heard)).not.toContain("model_responded");
    whole.resolve();
    await clock.settle();
    expect(gate.waiting).toEqual(["a", "p"]);
    gate.openAll("done");
    await clock.settle();
    expect(gate.waiting).toEqual(["W"]);
    gate.leaveOpen("done");
    const run = await clock.promptly(running);
    expect(outcomes(run)).toEqual(["p ok: done", "a ok: done", "W ok: done", "b ok: done"]);
    expect(faults(run)).toEqual([]);
    await leaks.done();
  });

  it("calls are put together however their pieces are mixed, and go out in call order", async () => {
    const { gate, search } = searches();
    const pieces = [0, 1, 2, 3].flatMap((at) => [c?.[at], b?.[at]].flatMap((piece) => piece ?? []));
    const late = { type: "tool_call_delta", index: 1, argsText: "late" } as const;
    const first = new Deferred<void>();
    const model = new StreamingModel([...pieces, late, first.promise, ...a, ends(asked)], done);
    const { runner, clock } = setUp(model, [search], EAGER);
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    expect(gate.waiting).toEqual([]);
    first.resolve();
    await clock.settle();
    expect(gate.waiting).toEqual(["a", "b", "c"]);
    gate.leaveOpen("found");
    expect(outcomes(await clock.promptly(running))).toEqual(["a ok: found", "b ok: found", "c ok: found"]);
  });

  it("run.events and run.messages are those of a model that does not stream, but for how many calls were asked for", async () => {
    const play = async (model: StreamingModel | ScriptedProvider): Promise<Run> => {
      const { runner, clock } = setUp(model, [tool("search", ({ q }) => `found ${q}`, again)], EAGER);
      return clock.promptly(runner.run(agent("planner"), "Go."));
    };
    const slowly = new Deferred<void>();
    const whole = await play(new ScriptedProvider(asked, say("done")));
    const running = play(new StreamingModel([...a, slowly.promise, ...rest, ends(asked)], done));
    await new Promise((resolve) => setImmediate(resolve));
    slowly.resolve();
    const run = await running;
    expect(run.messages).toEqual(whole.messages);
    const told = (events: readonly RunEvent[]) =>
      events.map((event) => ("detail" in event ? { ...event, detail: event.detail.replace(/ of 3$/, "") } : event));
    expect(told(run.events)).toEqual(told(whole.events));
  });

  it("nobody is asked, and nothing waits for somebody outside, before the response is whole", async () => {
    const shown: [string, number][] = [];
    const approver: Approver = ({ callId, of }) => {
      shown.push([callId, of]);
      return { approve: true };
    };
    const response = calls({ id: "p", name: "pay", args: { x: 1 } }, { id: "q", name: "pay", args: { x: 2 } });
    const whole = new Deferred<void>();
    const model = new StreamingModel([...response.toolCalls.flatMap(streamed), whole.promise, ends(response)], done);
    const pay = tool("pay", () => "paid", { ...again, requiresApproval: () => true });
    const { runner, clock } = setUp(model, [pay], { ...EAGER, approver });
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    expect(shown).toEqual([]);
    whole.resolve();
    expect(outcomes(await clock.promptly(running))).toEqual(["p ok: paid", "q ok: paid"]);
    expect(shown).toEqual([
      ["p", 2],
      ["q", 2],
    ]);
  });

  it("of a response that is cut off, what went out keeps its result, and nothing else goes out", async () => {
    const { gate, search } = searches();
    const cut = new Deferred<void>();
    const response = { ...asked, finishReason: "length" as const };
    const model = new StreamingModel([...a, ...rest, cut.promise, ends(response)], done);
    const { runner, clock } = setUp(model, [search], { ...EAGER, concurrency: { perTool: { search: 1 } } });
    const leaks = leakCheck(runner, { clock });
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    expect(gate.waiting).toEqual(["a"]);
    cut.resolve();
    await clock.settle();
    gate.leaveOpen("found");
    const run = await clock.promptly(running);
    expect(outcomes(run)).toEqual([
      "a ok: found",
      "b never_dispatched: never dispatched: the response was cut off",
      "c never_dispatched: never dispatched: the response was cut off",
    ]);
    expect([run.status, gate.arrivals]).toEqual(["completed", ["a"]]);
    await leaks.done();
  });

  it("what only waits for its lanes when the response is cut off does not hold the run up", async () => {
    const { gate, search } = searches();
    const response = { ...asked, finishReason: "length" as const };
    const cut = new Deferred<void>();
    const model = new StreamingModel([...a, ends(asked)], [...a, ...rest, cut.promise, ends(response)], done, done);
    const { runner, clock } = setUp(model, [search], { ...EAGER, concurrency: { perTool: { search: 1 } } });
    const leaks = leakCheck(runner, { clock });
    const before = runner.run(agent("planner"), "Go first.");
    await clock.settle();
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    expect(runner.lanes().find(({ lane }) => lane === "tool:search")).toMatchObject({ inFlight: 1, waiting: 5 });
    cut.resolve();
    const run = await clock.promptly(running);
    expect(run.results.map(({ status }) => status)).toEqual(Array(3).fill("never_dispatched"));
    expect(runner.lanes().find(({ lane }) => lane === "tool:search")).toMatchObject({ inFlight: 1, waiting: 2 });
    gate.leaveOpen("found");
    await clock.promptly(before);
    await leaks.done();
  });

  it("a stream that breaks fails the run: nothing of it is in the transcript, and what went out is in run.results", async () => {
    const { gate, search } = searches();
    const broken = new Deferred<void>();
    const model = new StreamingModel([...a, ...(b ?? []), broken.promise, new Error("connection lost")]);
    const { runner, clock, heard } = setUp(model, [search], EAGER);
    const leaks = leakCheck(runner, { clock });
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    gate.open("a", "found a");
    await clock.settle();
    broken.resolve();
    const run = await clock.promptly(running);
    expect(errorOf(run)).toMatchObject({ code: "PROVIDER", message: "streaming: connection lost" });
    expect(run.messages).toEqual([{ role: "user", content: "Go." }]);
    expect(outcomes(run)).toEqual([
      "a ok: found a",
      "b error: stopped in flight: streaming: connection lost. Safe to call again.",
    ]);
    expect(kinds(heard, "b").filter((kind) => kind === "tool_error")).toHaveLength(1);
    expect(gate.waiting).toEqual([]);
    await leaks.done();
  });

  it("a cancel ends the stream and what went out, at once", async () => {
    const { search } = searches();
    const model = new StreamingModel([...a, new Promise(() => {}), ends(asked)]);
    const { runner, clock } = setUp(model, [search], EAGER);
    const controller = new AbortController();
    const leaks = leakCheck(runner, { clock, signal: controller.signal });
    const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
    await clock.settle();
    controller.abort();
    const run = await clock.promptly(running);
    expect([run.status, ...outcomes(run)]).toEqual([
      "cancelled",
      "a error: stopped in flight: the run was cancelled. Safe to call again.",
    ]);
    await leaks.done();
  });

  it("a call that is asked for while whoever hears of it cancels the run has its verdict, too", async () => {
    for (const nth of [0, 1, 2]) {
      const { search } = searches();
      const controller = new AbortController();
      const model = new StreamingModel([...a, ...rest, ends(asked)]);
      const onEvent = (event: RunEvent) => {
        if (event.kind === "tool_requested" && event.position === nth) controller.abort();
      };
      const { runner, clock } = setUp(model, [search], EAGER);
      const running = runner.run(agent("planner"), "Go.", { signal: controller.signal, onEvent });
      const run = await clock.promptly(running);
      const told = run.events.filter(({ kind }) => kind === "tool_error").length;
      expect([run.status, run.results.length, told]).toEqual(["cancelled", nth + 1, nth + 1]);
    }
  });

  it("under fail_run a call that fails while the model streams ends the run", async () => {
    const fails = tool(
      "search",
      () => {
        throw new Error("no such place");
      },
      again,
    );
    const model = new StreamingModel([...a, new Promise(() => {}), ends(asked)]);
    const { runner, clock } = setUp(model, [fails], EAGER);
    const run = await clock.promptly(runner.run(agent("planner", { onToolError: "fail_run" }), "Go."));
    expect(errorOf(run).message).toBe("search failed: no such place");
    expect(outcomes(run)).toEqual(["a error: search failed: no such place"]);
  });

  it("in the last turn nothing goes out: its calls are never dispatched", async () => {
    const { gate, search } = searches();
    const model = new StreamingModel([...a, ...rest, ends(asked)]);
    const { runner, clock } = setUp(model, [search], EAGER);
    const run = await clock.promptly(runner.run(agent("planner", { maxTurns: 1 }), "Go."));
    expect(errorOf(run).code).toBe("TURN_LIMIT_EXCEEDED");
    expect(gate.arrivals).toEqual([]);
  });

  it("a call whose id is taken or missing, or whose arguments the stream left out, waits for the whole response", async () => {
    for (const [id, args] of [
      ["a", '{"q":"b"}'],
      ["", '{"q":"b"}'],
      ["b", ""],
    ] as const) {
      const { gate, search } = searches();
      const second = { id, name: "search", args: { q: "b" } };
      const response = { ...asked, toolCalls: [asked.toolCalls[0] as never, second, ...asked.toolCalls.slice(2)] };
      const whole = new Deferred<void>();
      const model = new StreamingModel(
        [...a, ...streamed({ ...second, args }, 1), ...(c ?? []), whole.promise, ends(response)],
        done,
      );
      const { runner, clock } = setUp(model, [search], EAGER);
      const running = runner.run(agent("planner"), "Go.");
      await clock.settle();
      expect(gate.waiting).toEqual(["a"]);
      whole.resolve();
      await clock.settle();
      expect(gate.waiting).toEqual(["a", "b", "c"]);
      gate.leaveOpen("found");
      const run = await clock.promptly(running);
      expect(run.results.map(({ callId }) => callId)).toEqual(["a", { a: "a_2", "": "call_1_1", b: "b" }[id], "c"]);
      expect(faults(run)).toEqual([]);
    }
  });
});

describe("Semantics 3.10, 8: a stream that begins again never runs a call of both attempts", () => {
  it("the same calls again are the same calls", async () => {
    const { gate, search } = searches();
    const model = new StreamingModel([...a, ...(b ?? []), ...a, ...rest, ends(asked)], done);
    const { runner, clock } = setUp(model, [search], EAGER);
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    gate.leaveOpen("found");
    expect(outcomes(await clock.promptly(running))).toEqual(["a ok: found", "b ok: found", "c ok: found"]);
    expect(gate.arrivals).toEqual(["a", "b", "c"]);
  });

  it("other calls, before anything went out, take the place of the first ones without a trace in the run", async () => {
    for (const finishReason of ["tool_calls", "stop"] as const) {
      const { gate, search } = searches();
      const other = calls({ id: "x", name: "pay", args: { sum: 1 } }, { id: "b", name: "search", args: { q: "b" } });
      const first = calls({ id: "p", name: "pay", args: { sum: 1 } });
      const response = finishReason === "stop" ? say("nothing to pay") : other;
      const model = new StreamingModel(
        [...first.toolCalls.flatMap(streamed), ...response.toolCalls.flatMap(streamed), ends(response)],
        done,
      );
      const ran: string[] = [];
      const { runner, clock, heard } = setUp(model, [search, tool("pay", (_, { callId }) => ran.push(callId))], EAGER);
      const leaks = leakCheck(runner, { clock });
      const running = runner.run(agent("planner"), "Go.");
      await clock.settle();
      gate.leaveOpen("found");
      const run = await clock.promptly(running);
      expect([run.status, faults(run)]).toEqual(["completed", []]);
      expect(run.results.map(({ callId }) => callId)).toEqual(finishReason === "stop" ? [] : ["x", "b"]);
      expect(ran).toEqual(finishReason === "stop" ? [] : ["x"]);
      expect(JSON.stringify(run)).not.toContain('"p"');
      // Who listened was told of it, and of its end.
      expect(kinds(heard, "p").at(-1)).toBe("tool_error");
      await leaks.done();
    }
  });

  it("other calls, after one went out, fail the run: which of them to believe nobody can say", async () => {
    const { gate, search } = searches();
    const other = calls({ id: "x", name: "search", args: { q: "x" } });
    const again = new Deferred<void>();
    const model = new StreamingModel([...a, again.promise, ...other.toolCalls.flatMap(streamed), ends(other)]);
    const { runner, clock } = setUp(model, [search], EAGER);
    const leaks = leakCheck(runner, { clock });
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    again.resolve();
    const run = await clock.promptly(running);
    expect(errorOf(run).message).toBe("streaming: expected a response with the calls that its stream had, got others");
    expect(outcomes(run)).toEqual([`a error: stopped in flight: ${errorOf(run).message}. Safe to call again.`]);
    expect([gate.arrivals, run.messages.length]).toEqual([["a"], 1]);
    await leaks.done();
  });
});
