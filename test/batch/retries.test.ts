import type { RetryOptions, RunEvent } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, told } from "./batch-world.ts";

const again = (retry: RetryOptions) => ({ idempotent: true, retry }) as const;
const retries = (events: readonly RunEvent[]): unknown[] =>
  events.flatMap((event) => (event.kind === "tool_retried" ? [[event.attempt, event.backoffSeconds]] : []));

/** Lets the attempt that is in flight fail. */
async function fail(world: BatchWorld, id = "a", error: unknown = new Error("boom")): Promise<void> {
  world.gate.fail(id, error);
  await world.clock.settle();
}

describe("Semantics 7.5, 7.6: an idempotent call that fails is tried again as declared, under one key", () => {
  it("each attempt is a dispatch, backoff doubles up to its maximum, and the last failure counts", async () => {
    const world = new BatchWorld();
    const tools = [world.deaf("x", again({ attempts: 4, backoffSeconds: 1, maxBackoffSeconds: 3 }))];
    const batch = await world.start("a:x", { tools });
    const keys = new Set<string | undefined>();
    const attempts: unknown[] = [];
    for (const pause of [1, 2, 3, 0]) {
      const ctx = world.contexts.get("a");
      keys.add(ctx?.idempotencyKey);
      attempts.push(ctx?.attempt);
      await fail(world);
      if (pause > 0) await world.clock.advance(pause - 0.1);
      expect(world.gate.waiting).toEqual([]);
      if (pause > 0) await world.clock.advance(0.1);
    }
    expect(lines(await world.finished(batch))).toEqual(["a error: x failed: boom"]);
    expect([attempts, keys]).toEqual([[1, 2, 3, 4], new Set(["run/0/1.0"])]);
    expect(retries(batch.events)).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(batch.events.flatMap((event) => (event.kind === "tool_dispatched" ? event.attempt : []))).toEqual([
      1, 2, 3, 4,
    ]);
    expect(told(batch, "tool_error")).toEqual(["tool_error a"]);
  });

  it("the first success ends it", async () => {
    const world = new BatchWorld();
    const batch = await world.start("a:x", { tools: [world.deaf("x", again({ attempts: 3, backoffSeconds: 0 }))] });
    await fail(world);
    await world.open("a");
    expect(lines(await world.finished(batch))).toEqual(["a ok: a"]);
    expect(world.witness.starts("a")).toBe(2);
  });

  it("backoff holds no place: another call has it meanwhile", async () => {
    const world = new BatchWorld({ perTool: { x: 1 } });
    const batch = await world.start("a:x b:x", { tools: [world.deaf("x", again({ attempts: 2, backoffSeconds: 5 }))] });
    await fail(world);
    expect(world.gate.waiting).toEqual(["b"]);
    await world.clock.advance(5);
    expect(world.gate.waiting).toEqual(["b"]);
    await world.open("b", "a");
    expect(lines(await world.finished(batch))).toEqual(["a ok: a", "b ok: b"]);
  });

  it("each attempt has its own ceiling, and starts only once the one before has ended or was abandoned", async () => {
    for (const way of ["ends", "abandoned"]) {
      const world = new BatchWorld({ perToolSeconds: { x: 2 }, abandonSeconds: 10 });
      const batch = await world.start("a:x", { tools: [world.deaf("x", again({ attempts: 2, backoffSeconds: 1 }))] });
      await world.clock.advance(2);
      expect(retries(batch.events)).toEqual([[1, 1]]);
      await world.clock.advance(9.9);
      expect(world.witness.starts("a")).toBe(1);
      if (way === "ends") await world.open("a");
      else await world.clock.advance(0.1);
      await world.clock.advance(1);
      expect([world.witness.starts("a"), world.witness.inFlight("a")]).toEqual([2, way === "ends" ? 1 : 2]);
      await world.clock.advance(2);
      expect(lines(await world.finished(batch))).toEqual(["a error: x took longer than its ceiling of 2 s"]);
      expect(told(batch, "tool_late_result")).toHaveLength(way === "ends" ? 1 : 0);
    }
  });

  it("`when` says which failures are worth it; one that throws says no, and that goes to onError", async () => {
    const heard: unknown[] = [];
    const when = (error: Error, attempt: number): boolean => {
      if (error.message.includes("odd")) throw new Error("predicate");
      return error.message.includes("again") && attempt < 3;
    };
    const told: Record<string, number> = {};
    for (const message of ["again", "never", "odd"]) {
      const world = new BatchWorld();
      const tools = [world.deaf("x", again({ attempts: 9, backoffSeconds: 0, when }))];
      const batch = await world.start("a:x", { tools, onError: (error) => heard.push(error) });
      while (world.gate.waiting.length > 0) await fail(world, "a", new Error(message));
      expect(lines(await world.finished(batch))).toEqual([`a error: x failed: ${message}`]);
      told[message] = world.witness.starts("a");
    }
    expect([told, heard]).toEqual([{ again: 3, never: 1, odd: 1 }, [new Error("predicate")]]);
  });

  it("a stop in backoff is a stop in flight: it had been sent out, and may be sent again", async () => {
    const world = new BatchWorld();
    const leaks = world.leaks();
    const batch = await world.start("a:x", { tools: [world.deaf("x", again({ attempts: 2, backoffSeconds: 60 }))] });
    await fail(world);
    batch.controller.abort();
    expect(lines(await world.finished(batch))).toEqual([
      "a error: stopped in flight: the batch was cancelled. Safe to call again.",
    ]);
    await leaks.done();
  });

  it("an attempt that the lanes refuse fails the call with that", async () => {
    const world = new BatchWorld({ perTool: { x: 1 }, maxWaitSeconds: 3 });
    const batch = await world.start("a:x b:x", { tools: [world.deaf("x", again({ attempts: 2, backoffSeconds: 1 }))] });
    await fail(world);
    await world.clock.advance(4);
    const [refused] = await (async () => {
      await world.open("b");
      return world.finished(batch);
    })();
    expect(refused).toMatchObject({ status: "error", error: { code: "LANE_WAIT_EXCEEDED" }, mayHaveLanded: false });
  });

  it("the idempotency key is that of the call: other calls and other runs have others, the same run the same", async () => {
    const world = new BatchWorld();
    const keys = async (runId: string): Promise<unknown[]> => {
      const batch = await world.start("a:x b:x", { tools: [world.deaf("x")], runId });
      await world.open("a", "b");
      await world.finished(batch);
      return ["a", "b"].map((id) => world.contexts.get(id)?.idempotencyKey);
    };
    const first = await keys("run_1");
    expect(new Set([...first, ...(await keys("run_2"))]).size).toBe(4);
    expect(await keys("run_1")).toEqual(first);
  });
});
