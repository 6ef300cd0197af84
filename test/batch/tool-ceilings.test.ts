import { ToolTimedOutError } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, told, tool } from "./batch-world.ts";

describe("Semantics 7.2, 7.3: a ceiling counts from dispatch, ends its own call, and says what may have landed", () => {
  it("names tool and ceiling, aborts the body's signal, and leaves the siblings alone", async () => {
    const world = new BatchWorld({ perToolSeconds: { send: 2.5, read: 5 } });
    const tools = [world.deaf("send"), world.deaf("read", { idempotent: true }), world.deaf("free")];
    const batch = await world.start("a:send b:read c:free", { tools });
    await world.clock.advance(2.4);
    expect(told(batch, "tool_error")).toEqual([]);
    await world.clock.advance(0.1);
    expect(told(batch, "tool_error")).toEqual(["tool_error a"]);
    expect(world.contexts.get("a")?.signal.reason).toBeInstanceOf(ToolTimedOutError);
    expect(world.contexts.get("b")?.signal.aborted).toBe(false);
    await world.clock.advance(2.5);
    await world.open("c");
    const results = await world.finished(batch);
    expect(lines(results)).toEqual([
      "a error: send took longer than its ceiling of 2.5 s. The side effect may have landed. (may have landed)",
      "b error: read took longer than its ceiling of 5 s",
      "c ok: c",
    ]);
    expect(results[0]?.error).toMatchObject({ code: "TOOL_TIMED_OUT", tool: "send", ceilingSeconds: 2.5 });
    expect(batch.events.find(({ kind }) => kind === "tool_error")).toMatchObject({
      status: "error",
      mayHaveLanded: true,
    });
  });

  it("waiting for a lane spends nobody's ceiling", async () => {
    const world = new BatchWorld({ perTool: { x: 1 }, perToolSeconds: { x: 5 } });
    const batch = await world.start("a:x b:x", { tools: [world.deaf("x")] });
    await world.clock.advance(4);
    await world.open("a");
    await world.clock.advance(4);
    await world.open("b");
    expect(lines(await world.finished(batch))).toEqual(["a ok: a", "b ok: b"]);
    const waits = batch.events.filter((event) => event.kind === "tool_dispatched");
    expect(waits.map(({ waitedSeconds }) => waitedSeconds.tool)).toEqual([0, 4]);
  });

  it("the tighter of the lanes' and the batch's own counts", async () => {
    const world = new BatchWorld({ perToolSeconds: { x: 5, y: 2 } });
    const tools = [world.deaf("x"), world.deaf("y")];
    const batch = await world.start("a:x b:y", { tools, concurrency: { perToolSeconds: { x: 3, y: 9 } } });
    await world.clock.advance(3);
    expect((await world.finished(batch)).map(({ error }) => (error as ToolTimedOutError).ceilingSeconds)).toEqual([
      3, 2,
    ]);
  });

  it("a body that ends in the same instant as its ceiling ends once", async () => {
    const world = new BatchWorld({ perToolSeconds: { x: 1 } });
    const leaks = world.leaks();
    const tools = [
      tool("x", { run: (_args, ctx) => new Promise((resolve) => ctx.clock.setTimer(1_000, () => resolve("in time"))) }),
    ];
    const batch = await world.start("a:x", { tools });
    await world.clock.advance(1);
    expect(await world.finished(batch)).toHaveLength(1);
    expect(told(batch, "tool_result", "tool_error")).toHaveLength(1);
    await leaks.done();
  });
});
