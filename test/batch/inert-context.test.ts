import type { ToolContext, ToolResult } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, tool } from "./batch-world.ts";

/** All that a body can do with its context, well and badly. */
function useAll(ctx: ToolContext): void {
  ctx.progress(0.5, "half");
  ctx.progress(7);
  ctx.log("line", { at: 1 });
  ctx.log(Symbol("no text") as never);
  ctx.state.set("key", "late");
  ctx.state.set("key", () => "no JSON");
  ctx.state.delete("early");
  void ctx.run({ name: "agent" }, "Go.");
}

/** A thenable that says no, and is then itself rejected. */
function rejectsTwice(): unknown {
  const then = (_yes: unknown, no: (error: Error) => void): Promise<never> => {
    no(new Error("once"));
    return Promise.reject(new Error("twice"));
  };
  return { then };
}

describe("Semantics 2.8: after its verdict a call's context is inert, and nothing of a batch is left", () => {
  const endings: Record<string, (world: BatchWorld, controller: AbortController) => Promise<void> | void> = {
    returned: (world) => world.open("a"),
    threw: (world) => world.gate.fail("a", new Error("own")),
    "timed out": (world) => world.clock.advance(5),
    stopped: (_world, controller) => controller.abort(),
  };
  for (const [ending, end] of Object.entries(endings)) {
    it(`a body that ${ending}`, async () => {
      const world = new BatchWorld({ perToolSeconds: { x: 5 } });
      const controller = new AbortController();
      const leaks = world.leaks([controller.signal]);
      const batch = await world.start("a:x", { tools: [world.deaf("x")] }, controller);
      const ctx = world.contexts.get("a") as ToolContext;
      ctx.state.set("early", 1);
      await end(world, controller);
      const results = await world.finished(batch);
      const [events, before] = [batch.events.length, lines(results)];
      useAll(ctx);
      await expect(ctx.run({ name: "agent" }, "Go.")).rejects.toMatchObject({ code: "CONFIGURATION" });
      expect(ctx.state.toJSON()).toEqual({ early: 1 });
      expect([batch.events.length, lines(results)]).toEqual([events, before]);
      if (world.gate.waiting.length > 0) await world.open("a");
      await leaks.done();
    });
  }

  it("while it is in flight, the same is told and kept; what is wrong about it goes to onError", async () => {
    const world = new BatchWorld();
    const heard: unknown[] = [];
    const batch = await world.start("a:x", { tools: [world.deaf("x")], onError: (error) => heard.push(error) });
    const ctx = world.contexts.get("a") as ToolContext;
    ctx.progress(0.5, "half");
    ctx.log("line", { at: 1, odd: 10n });
    expect(batch.events.slice(-2)).toMatchObject([
      { kind: "tool_progress", fraction: 0.5, note: "half", detail: "half" },
      { kind: "tool_log", message: "line", fields: { at: 1, odd: "10" } },
    ]);
    for (const fraction of [-0.1, 1.1, Number.NaN, "0.5" as never]) ctx.progress(fraction);
    ctx.log(7 as never);
    expect(heard.map(String)).toEqual([
      expect.stringContaining("ctx.progress: expected a fraction from 0 to 1, got -0.1 from x (a)"),
      ...[/1\.1/, /NaN/, /"0\.5"/, /ctx\.log: expected a text, got 7/].map((text) => expect.stringMatching(text)),
    ]);
    expect(() => ctx.state.set("key", () => 1)).toThrow(/state.key/);
    await expect(ctx.run({ name: "agent" }, "Go.")).rejects.toThrow(/expected a runner/);
    await world.open("a");
    await world.finished(batch);
  });

  it("a batch in which everything goes wrong leaves no rejection, timer, place or listener", async () => {
    const world = new BatchWorld({ perToolSeconds: { slow: 5 } });
    const controller = new AbortController();
    const leaks = world.leaks([controller.signal]);
    const tools = [
      tool("throws", { run: () => Promise.reject(new Error("own")) }),
      tool("twice", { run: rejectsTwice }),
      world.listening("slow"),
      world.listening("waits"),
    ];
    const hooks = [{ name: "h", afterTool: () => Promise.reject(new Error("gate")) }];
    const batch = await world.start(
      "a:throws b:twice c:slow d:waits e:waits",
      {
        tools,
        hooks,
        deadlines: { runSeconds: 60, toolCallSeconds: 30 },
        onEvent: () => Promise.reject(new Error("listener")) as never,
      },
      controller,
    );
    await world.clock.advance(5);
    controller.abort();
    const results: ToolResult[] = await world.finished(batch);
    expect(results.map(({ status }) => status)).toEqual(["error", "error", "error", "indeterminate", "indeterminate"]);
    await leaks.done();
  });
});
