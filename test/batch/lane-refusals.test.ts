import { describe, expect, it } from "vitest";
import { BatchWorld, lines, told } from "./batch-world.ts";

describe("Semantics 4.1, 4.10: a call that its lanes refuse was never dispatched, and its siblings go on", () => {
  it("maxWaiting refuses at once what would wait too far behind", async () => {
    const world = new BatchWorld({ perTool: { x: 1 }, maxWaiting: 1 });
    const leaks = world.leaks();
    const batch = await world.start("a:x b:x c:x", { tools: [world.deaf("x")] });
    expect(told(batch, "tool_error")).toEqual(["tool_error c"]);
    await world.open("a", "b");
    const results = await world.finished(batch);
    expect(lines(results)).toEqual([
      "a ok: a",
      "b ok: b",
      "c never_dispatched: never dispatched: lane turn:run/0/1: expected at most 1 waiting calls, got one more",
    ]);
    expect(results[2]?.error?.code).toBe("LANE_FULL");
    await leaks.done();
  });

  it("maxWaitSeconds ends a wait, of the lanes' or tighter of the batch's own", async () => {
    for (const own of [undefined, 2]) {
      const world = new BatchWorld({ perTool: { x: 1 }, maxWaitSeconds: 5 });
      const leaks = world.leaks();
      const concurrency = own === undefined ? {} : { maxWaitSeconds: own };
      const batch = await world.start("a:x b:x", { tools: [world.deaf("x")], concurrency });
      await world.clock.advance(own ?? 5);
      await world.open("a");
      const [, refused] = await world.finished(batch);
      expect(refused).toMatchObject({
        status: "never_dispatched",
        content: `never dispatched: lane tool:x: expected a place within ${own ?? 5} s, waited ${own ?? 5} s`,
        error: { code: "LANE_WAIT_EXCEEDED" },
        mayHaveLanded: false,
      });
      await leaks.done();
    }
  });

  it("a function of the tenant that throws or answers nonsense counts against the call", async () => {
    for (const [perTenant, says] of [
      [() => 0, /perTenant\("default"\)/],
      [
        () => {
          throw new Error("no tenant");
        },
        /perTenant\("default"\)/,
      ],
    ] as const) {
      const world = new BatchWorld({ perTenant: perTenant as () => number });
      const batch = await world.start("a:x", { tools: [world.deaf("x")] });
      const [result] = await world.finished(batch);
      expect(result).toMatchObject({ status: "never_dispatched", error: { code: "CONFIGURATION" } });
      expect(result?.content).toMatch(says);
    }
  });
});
