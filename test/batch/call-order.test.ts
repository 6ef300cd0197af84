import type { Approver, Guardrail } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, told, tool } from "./batch-world.ts";

describe("Semantics 2.2, 2.3, 3.1: gates one at a time before the first dispatch, results in call order", () => {
  it("results stand in call order, whatever the order in which bodies end; events tell it as it happens", async () => {
    for (const order of ["a b c", "c b a", "b c a"]) {
      const world = new BatchWorld();
      const batch = await world.start("a:x b:x c:x", { tools: [world.deaf("x")] });
      expect(told(batch, "tool_dispatched")).toEqual(["tool_dispatched a", "tool_dispatched b", "tool_dispatched c"]);
      await world.open(...order.split(" "));
      expect(lines(await world.finished(batch))).toEqual(["a ok: a", "b ok: b", "c ok: c"]);
      expect(told(batch, "tool_completed")).toEqual(order.split(" ").map((id) => `tool_completed ${id}`));
      // What a model is shown follows the output gates, which go in call order.
      expect(told(batch, "tool_result")).toEqual(["tool_result a", "tool_result b", "tool_result c"]);
      expect(batch.events.map(({ seq }) => seq)).toEqual(batch.events.map((_event, at) => at));
    }
  });

  it("every gate of every call is asked, in call order and never two at once, before any body starts", async () => {
    const world = new BatchWorld();
    const approver: Approver = async ({ callId }) => {
      await world.gate.wait(`person ${callId}`);
      return { approve: true };
    };
    const guardrail: Guardrail = { name: "g", before: ({ id }) => void world.gate.wait(`guardrail ${id}`) };
    const tools = [world.deaf("x", { requiresApproval: true }), world.deaf("y")];
    const batch = await world.start("a:x b:y c:x", { tools, approver, guardrails: [guardrail] });
    expect(world.gate.arrivals).toEqual(["guardrail a", "person a"]);
    await world.open("person a");
    expect(world.gate.arrivals.slice(2)).toEqual(["guardrail b", "guardrail c", "person c"]);
    expect(told(batch, "tool_dispatched")).toEqual([]);
    await world.open("person c");
    expect(world.gate.arrivals.slice(5)).toEqual(["a", "b", "c"]);
    await world.open("c", "b", "a");
    expect(lines(await world.finished(batch))).toEqual(["a ok: a", "b ok: b", "c ok: c"]);
  });

  it("phases follow each other, each with its results before the next begins", async () => {
    const world = new BatchWorld();
    const tools = [world.deaf("read"), world.deaf("write", { parallelSafe: false })];
    const batch = await world.start("a:read b:read c:write d:read", { tools });
    await world.open("b", "a");
    expect(told(batch, "tool_result")).toEqual(["tool_result a", "tool_result b"]);
    expect(world.gate.waiting).toEqual(["c"]);
    await world.open("c", "d");
    expect(lines(await world.finished(batch))).toEqual(["a ok: a", "b ok: b", "c ok: c", "d ok: d"]);
    expect(batch.events.at(-1)).toMatchObject({ kind: "batch_resolved", turn: 1, calls: 4, failed: 0 });
  });

  it("a batch of no calls has no results", async () => {
    const world = new BatchWorld();
    const batch = await world.start([], { tools: [tool("x")] });
    expect(await world.finished(batch)).toEqual([]);
  });
});
