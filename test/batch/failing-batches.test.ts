import { defineTool } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, told } from "./batch-world.ts";

const failRun = { onToolError: "fail_run" } as const;
const LANDED = "The side effect may have landed. (may have landed)";

describe("Semantics 3.3, 7.1: a failure is its own call's, or ends the batch under fail_run", () => {
  it("surface_to_model keeps the siblings", async () => {
    const world = new BatchWorld();
    const batch = await world.start("a:x b:x c:none d:x", { tools: [world.deaf("x")] });
    world.gate.fail("a", new Error("boom"));
    await world.open("d", "b");
    expect(lines(await world.finished(batch))).toEqual([
      "a error: x failed: boom",
      "b ok: b",
      'c error: no tool is named "none"; the tools are "x"',
      "d ok: d",
    ]);
    expect(batch.events.at(-1)).toMatchObject({ kind: "batch_resolved", calls: 4, failed: 2 });
  });

  it("fail_run stops the siblings as in a stop, and keeps what had resolved", async () => {
    const world = new BatchWorld();
    const tools = [world.deaf("x"), world.deaf("safe", { idempotent: true }), world.deaf("w", { parallelSafe: false })];
    const batch = await world.start("a:x b:x c:x d:safe e:w", { tools, ...failRun });
    await world.open("a");
    world.gate.fail("b", new Error("boom"));
    expect(lines(await world.finished(batch))).toEqual([
      "a ok: a",
      "b error: x failed: boom",
      `c indeterminate: stopped in flight: a sibling failed: x failed: boom. ${LANDED}`,
      "d error: stopped in flight: a sibling failed: x failed: boom. Safe to call again.",
      "e never_dispatched: never dispatched: a sibling failed: x failed: boom",
    ]);
    expect([...world.contexts.values()].map(({ signal }) => signal.aborted)).toEqual([false, false, true, true]);
  });

  it("of several failures in one tick the first in call order names the reason", async () => {
    const world = new BatchWorld();
    const batch = await world.start("a:x b:x c:x", { tools: [world.deaf("x")], ...failRun });
    world.gate.fail("c", new Error("third"));
    await Promise.resolve();
    world.gate.fail("b", new Error("second"));
    expect(lines(await world.finished(batch))).toEqual([
      `a indeterminate: stopped in flight: a sibling failed: x failed: second. ${LANDED}`,
      "b error: x failed: second",
      "c error: x failed: third",
    ]);
  });

  it("nothing is dispatched after the first failure, also what got its place from it", async () => {
    const world = new BatchWorld({ perTool: { x: 1 } });
    const tools = [
      world.deaf("x", { idempotent: true, retry: { attempts: 3, when: (error) => !/boom/.test(error.message) } }),
    ];
    const batch = await world.start("a:x b:x c:x", { tools, ...failRun });
    world.gate.fail("a", new Error("boom"));
    expect(lines(await world.finished(batch)).slice(1)).toEqual([
      "b never_dispatched: never dispatched: a sibling failed: x failed: boom",
      "c never_dispatched: never dispatched: a sibling failed: x failed: boom",
    ]);
    expect(told(batch, "tool_dispatched")).toEqual(["tool_dispatched a"]);
    expect(world.lanes.snapshot().every(({ inFlight, waiting }) => inFlight + waiting === 0)).toBe(true);
  });

  it("a failure in the tick of another's is not retried", async () => {
    const world = new BatchWorld();
    const tools = [world.deaf("x"), world.deaf("flaky", { idempotent: true, retry: { attempts: 3 } })];
    const batch = await world.start("a:x b:flaky", { tools, ...failRun });
    world.gate.fail("a", new Error("first"));
    world.gate.fail("b", new Error("second"));
    expect(lines(await world.finished(batch))).toEqual(["a error: x failed: first", "b error: flaky failed: second"]);
    expect(told(batch, "tool_retried")).toEqual([]);
  });

  it("a ceiling, bad arguments, an unknown tool and a gate that throws are failures too; a denial is none", async () => {
    const input = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
    const strict = defineTool({ name: "strict", description: "", input, run: () => "ran" });
    const why: Record<string, string> = {};
    for (const name of ["none", "strict", "throws", "denied"]) {
      const world = new BatchWorld();
      const tools = [strict, world.deaf("throws"), world.deaf("denied"), world.deaf("x")];
      const guardrails = [
        {
          name: "g",
          before: (call: { name: string }) => {
            if (call.name === "throws") throw new Error("boom");
            return call.name === "denied" ? { refuse: "no" } : undefined;
          },
        },
      ];
      const batch = await world.start(`a:${name} b:x`, { tools, guardrails, ...failRun });
      if (world.gate.waiting.length > 0) await world.open("b");
      why[name] = lines(await world.finished(batch))[1] as string;
    }
    const sibling = "b never_dispatched: never dispatched: a sibling failed: ";
    expect(why).toEqual({
      none: `${sibling}no tool is named "none"; the tools are "strict", "throws", "denied", "x"`,
      strict: expect.stringContaining(`${sibling}strict: bad arguments: `),
      throws: `${sibling}guardrail "g" failed: boom`,
      denied: "b ok: b",
    });
    const world = new BatchWorld({ perToolSeconds: { x: 2 } });
    const batch = await world.start("a:x b:y", { tools: [world.deaf("x"), world.deaf("y")], ...failRun });
    await world.clock.advance(2);
    expect(lines(await world.finished(batch))[1]).toContain("a sibling failed: x took longer than its ceiling of 2 s");
  });
});
