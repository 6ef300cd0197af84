import { describe, expect, it } from "vitest";
import { BatchWorld, told, tool } from "./batch-world.ts";

const calls = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `c${at}`, name: "x", args: { at } }));

describe("Semantics 2.10: the first calls of a turn run, the rest are answered, and work grows linearly", () => {
  it("calls past maxCallsPerTurn are never dispatched, with one short text", async () => {
    const world = new BatchWorld();
    const asked: string[] = [];
    const tools = [tool("x", { run: () => "ran" })];
    const guardrails = [{ name: "g", before: ({ id }: { id: string }) => void asked.push(id) }];
    const batch = await world.start(calls(5), { tools, guardrails, limits: { maxCallsPerTurn: 3 } });
    const results = await world.finished(batch);
    expect(results.map(({ content }) => content)).toEqual([
      "ran",
      "ran",
      "ran",
      "never dispatched: a turn runs at most 3 calls",
      "never dispatched: a turn runs at most 3 calls",
    ]);
    expect(results.at(-1)).toMatchObject({ callId: "c4", status: "never_dispatched", mayHaveLanded: false });
    expect(asked).toEqual(["c0", "c1", "c2"]);
    expect(told(batch, "tool_dispatched")).toHaveLength(3);
  });

  it("128 when nothing is declared", async () => {
    const world = new BatchWorld();
    const batch = await world.start(calls(130), { tools: [tool("x", { run: () => "ran" })] });
    const statuses = (await world.finished(batch)).map(({ status }) => status);
    expect([statuses.lastIndexOf("ok"), statuses.indexOf("never_dispatched")]).toEqual([127, 128]);
  });

  it("a thousand calls pass the lane of their turn, each with as many events as one alone", async () => {
    const counts: number[] = [];
    for (const count of [1, 1_000]) {
      const world = new BatchWorld();
      const leaks = world.leaks();
      const tools = [tool("x", { run: (args, ctx) => world.witness.body("x", async () => [ctx.callId, args]) })];
      const batch = await world.start(calls(count), {
        tools,
        limits: { maxCallsPerTurn: 1_000 },
        concurrency: { maxConcurrentTools: 3 },
      });
      const results = await world.finished(batch);
      expect(results.map(({ value }) => value)).toEqual(calls(count).map(({ id, args }) => [id, args]));
      expect(world.witness.peak("x")).toBe(Math.min(3, count));
      counts.push((batch.events.length - 1) / count);
      await leaks.done();
    }
    expect(counts[1]).toBe(counts[0]);
  });

  it("a stop behind very many calls that have brought something is one more look at each", async () => {
    const world = new BatchWorld();
    const tools = [tool("x", { run: () => "ran" }), world.listening("waits")];
    const asked = [...calls(20_000), { id: "last", name: "waits", args: {} }];
    const limits = { maxCallsPerTurn: asked.length };
    const batch = await world.start(asked, { tools, limits, concurrency: { maxConcurrentTools: asked.length } });
    await world.gate.arrived("last");
    batch.controller.abort();
    const results = await world.finished(batch);
    expect(results.filter(({ status }) => status === "ok")).toHaveLength(20_000);
    expect(results.at(-1)?.status).toBe("indeterminate");
  }, 30_000);
});
