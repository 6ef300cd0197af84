import type { RunEvent } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, told } from "./batch-world.ts";

const WHY = "the batch was cancelled";

describe("Semantics 2.4, 2.8, 4.10, 8: what a stopped batch did is told apart from what it never started", () => {
  it("resolved, in flight, idempotent or not, waiting for a lane, for a phase: each in its own words", async () => {
    const world = new BatchWorld({ perTool: { narrow: 1 } });
    const tools = [
      world.deaf("read", { idempotent: true }),
      world.deaf("send"),
      world.deaf("narrow"),
      world.deaf("write", { parallelSafe: false }),
    ];
    const batch = await world.start("a:send b:read c:send d:narrow e:narrow f:write g:read", { tools });
    await world.open("a");
    batch.controller.abort(new Error("the user left"));
    const results = await world.finished(batch);
    expect(lines(results)).toEqual([
      "a ok: a",
      `b error: stopped in flight: ${WHY}. Safe to call again.`,
      `c indeterminate: stopped in flight: ${WHY}. The side effect may have landed. (may have landed)`,
      `d indeterminate: stopped in flight: ${WHY}. The side effect may have landed. (may have landed)`,
      `e never_dispatched: never dispatched: ${WHY}`,
      `f never_dispatched: never dispatched: ${WHY}`,
      `g never_dispatched: never dispatched: ${WHY}`,
    ]);
    expect(results.map(({ error }) => error?.code)).toEqual([
      undefined,
      "TOOL_STOPPED",
      "TOOL_INDETERMINATE",
      "TOOL_INDETERMINATE",
      "TOOL_STOPPED",
      "TOOL_STOPPED",
      "TOOL_STOPPED",
    ]);
    expect(told(batch, "tool_error", "tool_indeterminate")).toEqual([
      "tool_error b",
      "tool_indeterminate c",
      "tool_indeterminate d",
      "tool_error e",
      "tool_error f",
      "tool_error g",
    ]);
    expect(world.witness.starts()).toBe(4);
    expect(results[2]?.error?.cause).toMatchObject({ code: "CANCELLED", cause: new Error("the user left") });
  });

  it("every verdict stands before the first signal aborts", async () => {
    const world = new BatchWorld();
    const seen: string[][] = [];
    const batch = await world.start("a:send b:send", { tools: [world.deaf("send")] });
    world.contexts.get("a")?.signal.addEventListener("abort", () => seen.push(told(batch, "tool_indeterminate")));
    batch.controller.abort();
    expect(seen).toEqual([["tool_indeterminate a", "tool_indeterminate b"]]);
    expect([...world.contexts.values()].map(({ signal }) => signal.aborted)).toEqual([true, true]);
  });

  it("what a body brings after that is told to listeners, and changes nothing", async () => {
    const world = new BatchWorld();
    const leaks = world.leaks();
    const batch = await world.start("a:send b:send c:listens", {
      tools: [world.deaf("send"), world.listening("listens")],
    });
    batch.controller.abort(new Error("enough"));
    const results = await world.finished(batch);
    const before = lines(results);
    await world.open("a");
    world.gate.fail("b", new Error("too late"));
    await world.clock.settle();
    expect(batch.events.filter(({ kind }) => kind === "tool_late_result")).toMatchObject([
      { callId: "c", outcome: "threw", content: "the batch was cancelled by its signal" },
      { callId: "a", outcome: "returned", content: "a", seconds: 0 },
      { callId: "b", outcome: "threw", content: "too late" },
    ]);
    expect(lines(results)).toEqual(before);
    expect(told(batch, "tool_completed", "tool_result")).toEqual([]);
    await leaks.done();
  });

  it("the first reason to stop wins", async () => {
    const world = new BatchWorld();
    const batch = await world.start("a:send", { tools: [world.deaf("send")], deadlines: { runSeconds: 1 } });
    await world.clock.advance(1);
    batch.controller.abort();
    expect(lines(await world.finished(batch))[0]).toContain("stopped in flight: deadlines.runSeconds");
  });

  it("a signal that has aborted already asks no person and starts nothing; bad calls are still bad", async () => {
    const world = new BatchWorld();
    const controller = new AbortController();
    controller.abort();
    const leaks = world.leaks([controller.signal]);
    const unreachable = (): never => expect.unreachable();
    const batch = await world.start(
      "a:send b:none c:send",
      {
        tools: [world.deaf("send", { requiresApproval: true })],
        approver: unreachable,
        guardrails: [{ name: "g", before: unreachable }],
        hooks: [{ name: "h", beforeTool: unreachable }],
      },
      controller,
    );
    expect(lines(await world.finished(batch))).toEqual([
      `a never_dispatched: never dispatched: ${WHY}`,
      'b error: no tool is named "none"; the tools are "send"',
      `c never_dispatched: never dispatched: ${WHY}`,
    ]);
    expect(world.witness.starts()).toBe(0);
    await leaks.done();
  });

  it("a stop while a person is asked asks nobody else, and a late answer does nothing", async () => {
    const world = new BatchWorld();
    const asked: string[] = [];
    const signals: AbortSignal[] = [];
    const batch = await world.start("a:send b:send", {
      tools: [world.deaf("send", { requiresApproval: true })],
      approver: async ({ callId }, { signal }) => {
        asked.push(callId);
        signals.push(signal);
        await world.gate.wait("person");
        return { approve: true };
      },
    });
    batch.controller.abort();
    expect(lines(await world.finished(batch))).toEqual([
      `a never_dispatched: never dispatched: ${WHY}`,
      `b never_dispatched: never dispatched: ${WHY}`,
    ]);
    await world.open("person");
    expect([asked, signals.map(({ aborted }) => aborted), world.witness.starts()]).toEqual([["a"], [true], 0]);
  });

  it("a body that ended by itself keeps its outcome when whoever is told of that stops the batch", async () => {
    const world = new BatchWorld();
    const controller = new AbortController();
    const onEvent = (event: RunEvent): void => {
      if (event.kind === "tool_completed") controller.abort();
    };
    const tools = [world.deaf("send")];
    const returned = await world.start("a:send b:send", { tools, onEvent }, controller);
    await world.open("a");
    expect(lines(await world.finished(returned))).toEqual([
      "a ok: a",
      `b indeterminate: stopped in flight: ${WHY}. The side effect may have landed. (may have landed)`,
    ]);
    const again = new AbortController();
    const threw = await world.start(
      "c:send",
      { tools, onEvent: (event) => event.kind === "tool_completed" && again.abort() },
      again,
    );
    world.gate.fail("c", new Error("own"));
    expect(lines(await world.finished(threw))).toEqual(["c error: send failed: own"]);
  });

  it("bodies that stop the batch from where nobody expects it: a getter, a parallelSafe, a schema", async () => {
    for (const where of ["getter", "parallelSafe", "requiresApproval", "guardrail", "body"]) {
      const world = new BatchWorld();
      const controller = new AbortController();
      const leaks = world.leaks([controller.signal]);
      const abortAt = (place: string): void => {
        if (where === place) controller.abort();
      };
      const returned = {
        get x() {
          abortAt("getter");
          return 1;
        },
      };
      const tools = [
        world.deaf("x", {
          parallelSafe: () => {
            abortAt("parallelSafe");
            return true;
          },
          requiresApproval: () => {
            abortAt("requiresApproval");
            return false;
          },
          run: async () => {
            abortAt("body");
            return returned;
          },
        }),
      ];
      const guardrails = [{ name: "g", before: () => abortAt("guardrail") }];
      const batch = await world.start("a:x b:x", { tools, guardrails }, controller);
      const expected =
        where === "body"
          ? `indeterminate: stopped in flight: ${WHY}. The side effect may have landed. (may have landed)`
          : where === "getter"
            ? 'ok: {"x":1}'
            : `never_dispatched: never dispatched: ${WHY}`;
      expect([where, lines(await world.finished(batch))[0]]).toEqual([where, `a ${expected}`]);
      expect(told(batch, "tool_error", "tool_indeterminate", "tool_result")).toHaveLength(2);
      await leaks.done();
    }
  });
});
