import type { ConcurrencyOptions, ToolOptions } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, type Running, told } from "./batch-world.ts";

/** How many bodies hold a place of tool x, and how many hold none any more, by the lanes' own word. */
function places(world: BatchWorld): [inFlight: number, abandoned: number] {
  const lane = world.lanes.snapshot().find((one) => one.lane === "tool:x");
  return [lane?.inFlight ?? 0, lane?.abandoned ?? 0];
}

/** A batch of one call whose body ignores that it was stopped. */
async function deafBatch(
  concurrency: ConcurrencyOptions,
  more: Partial<ToolOptions> = {},
): Promise<{ world: BatchWorld; batch: Running }> {
  const world = new BatchWorld(concurrency);
  const batch = await world.start("a:x", { tools: [world.deaf("x", more as object)] });
  batch.controller.abort();
  expect((await world.finished(batch))[0]?.status).toBe("indeterminate");
  return { world, batch };
}

describe("Semantics 4.8: a body that ignores its signal keeps its places, and losing them is never silent", () => {
  it("for abandonSeconds from its verdict, 30 when nothing is declared; then they go back and that is told", async () => {
    for (const seconds of [30, 7]) {
      const { world, batch } = await deafBatch({
        perTool: { x: 2 },
        ...(seconds === 30 ? {} : { abandonSeconds: seconds }),
      });
      await world.clock.advance(seconds - 0.1);
      expect([places(world), told(batch, "tool_abandoned")]).toEqual([[1, 0], []]);
      await world.clock.advance(0.1);
      expect(places(world)).toEqual([0, 1]);
      expect(batch.events.at(-1)).toMatchObject({ kind: "tool_abandoned", callId: "a", seconds });
      await world.open("a");
      expect([places(world), told(batch, "tool_abandoned", "tool_late_result")]).toEqual([
        [0, 0],
        ["tool_abandoned a", "tool_late_result a"],
      ]);
    }
  });

  it("one that ends in time is not abandoned, and leaves no timer", async () => {
    const { world, batch } = await deafBatch({ perTool: { x: 2 } });
    const leaks = world.leaks();
    await world.clock.advance(29);
    await world.open("a");
    await leaks.done();
    await world.clock.advance(100);
    expect(told(batch, "tool_abandoned", "tool_overdue")).toEqual([]);
  });

  const kept: Record<string, [ConcurrencyOptions, Partial<ToolOptions>]> = {
    "a bound of 1": [{ perTool: { x: 1 } }, {}],
    "a bound of 1 in flight and a rate": [{ perTool: { x: { inFlight: 1, starts: { count: 9, perSeconds: 1 } } } }, {}],
    "a resource with a bound of 1": [{ perTool: { x: 5 }, perResource: { r: 1 } }, { resource: "r" }],
    "no parallel safety": [{ perTool: { x: 5 } }, { parallelSafe: false }],
    "no parallel safety for these arguments": [{ perTool: { x: 5 } }, { parallelSafe: () => false }],
  };
  for (const [what, [concurrency, more]] of Object.entries(kept)) {
    it(`a tool with ${what} is never abandoned, only overdue: its lane waits`, async () => {
      const { world, batch } = await deafBatch(concurrency, more);
      await world.clock.advance(30);
      expect(batch.events.at(-1)).toMatchObject({ kind: "tool_overdue", callId: "a", seconds: 30 });
      await world.clock.advance(10_000);
      expect([places(world), told(batch, "tool_overdue", "tool_abandoned")]).toEqual([[1, 0], ["tool_overdue a"]]);
      await world.open("a");
      expect(places(world)).toEqual([0, 0]);
    });

    it(`a tool with ${what} is abandoned when it has abandonSeconds of its own`, async () => {
      const { world, batch } = await deafBatch(concurrency, { ...more, abandonSeconds: 3 });
      await world.clock.advance(3);
      expect([places(world), told(batch, "tool_abandoned")]).toEqual([[0, 1], ["tool_abandoned a"]]);
    });
  }

  it("never, when that is what was declared", async () => {
    for (const [concurrency, more] of [
      [{ abandonSeconds: Number.POSITIVE_INFINITY }, {}],
      [{}, { abandonSeconds: Number.POSITIVE_INFINITY }],
    ]) {
      const { world, batch } = await deafBatch({ perTool: { x: 2 }, ...concurrency }, more);
      await world.clock.advance(1e6);
      expect([places(world), told(batch, "tool_abandoned", "tool_overdue")]).toEqual([[1, 0], []]);
    }
  });

  it("a ceiling's verdict starts the same clock, and the next call in the lane waits for it", async () => {
    const world = new BatchWorld({ perTool: { x: 2 }, perToolSeconds: { x: 5 }, abandonSeconds: 10 });
    const batch = await world.start("a:x b:x c:x", { tools: [world.deaf("x")] });
    await world.clock.advance(5);
    expect(told(batch, "tool_error")).toEqual(["tool_error a", "tool_error b"]);
    await world.open("b");
    expect(world.gate.waiting).toEqual(["a", "c"]);
    await world.open("c");
    expect(lines(await world.finished(batch)).at(-1)).toBe("c ok: c");
    await world.clock.advance(10);
    expect(told(batch, "tool_abandoned")).toEqual(["tool_abandoned a"]);
  });

  it("its timer keeps the process alive while another batch on the same lanes may wait for its place", async () => {
    const { world } = await deafBatch({ perTool: { x: 2, y: 1 }, perTenant: 1 });
    expect(world.clock.pending).toEqual({ foreground: 0, background: 1 });
    const next = await world.start("b:y", { tools: [world.deaf("y")] });
    expect(world.clock.pending).toEqual({ foreground: 1, background: 0 });
    await world.clock.advance(30);
    await world.open("b");
    expect(lines(await world.finished(next))).toEqual(["b ok: b"]);
  });
});
