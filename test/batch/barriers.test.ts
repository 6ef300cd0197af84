import { currentCall, runBatch } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, tool } from "./batch-world.ts";

const barrier = { parallelSafe: false };
const callsTo = (name: string, args: Record<string, unknown>) =>
  Object.entries(args).map(([id, given]) => ({ id, name, args: given }));

describe("Semantics 5.1, 5.2, 5.3: what is not parallel-safe runs alone", () => {
  it("all before it has resolved, nothing beside it, all after it waits", async () => {
    const world = new BatchWorld();
    const tools = [world.deaf("read"), world.deaf("write", barrier)];
    const batch = await world.start("a:read b:read c:write d:write e:read f:read", { tools });
    const seen: string[][] = [];
    for (const id of ["b", "a", "c", "d", "e", "f"]) {
      seen.push(world.gate.waiting);
      await world.open(id);
    }
    expect(seen).toEqual([["a", "b"], ["a"], ["c"], ["d"], ["e", "f"], ["f"]]);
    expect(lines(await world.finished(batch))).toHaveLength(6);
  });

  it("a function of the arguments decides for each call; one that throws, or says no yes, is no yes", async () => {
    const world = new BatchWorld();
    const parallelSafe = (args: { say?: unknown }): boolean => {
      if (args.say === "throw") throw new Error("boom");
      return args.say as boolean;
    };
    const tools = [world.deaf("x", { parallelSafe: parallelSafe as never })];
    const args = {
      a: { say: true },
      b: { say: true },
      c: { say: false },
      d: { say: "throw" },
      e: { say: 1 },
      f: { say: true },
    };
    const batch = await world.start(callsTo("x", args), { tools });
    const seen: string[][] = [];
    for (const id of ["a", "b", "c", "e", "f"]) {
      seen.push(world.gate.waiting);
      await world.open(id);
    }
    expect(seen).toEqual([["a", "b"], ["b"], ["c"], ["e"], ["f"]]);
    expect(lines(await world.finished(batch))[3]).toBe(
      "d never_dispatched: never dispatched: parallelSafe failed: boom",
    );
  });

  it("a phase waits for its deaf bodies, until they end or are abandoned; the batch itself waits for none", async () => {
    for (const way of ["ends", "abandoned"]) {
      const world = new BatchWorld({ perToolSeconds: { deaf: 5 }, abandonSeconds: 20 });
      const tools = [world.deaf("deaf"), world.deaf("write", barrier)];
      const batch = await world.start("a:deaf b:write c:deaf", { tools });
      await world.clock.advance(24.9);
      expect(world.gate.waiting).toEqual(["a"]);
      if (way === "ends") await world.open("a");
      else await world.clock.advance(0.1);
      expect(world.gate.waiting.filter((id) => id !== "a")).toEqual(["b"]);
      await world.open("b");
      await world.clock.advance(5);
      expect((await world.finished(batch)).map(({ status }) => status)).toEqual(["error", "ok", "error"]);
      expect(world.gate.waiting).toContain("c");
    }
  });

  it("a phase that waits for a deaf body spends the turn's toolCallSeconds", async () => {
    const world = new BatchWorld({ perToolSeconds: { deaf: 5 }, abandonSeconds: 20 });
    const tools = [world.deaf("deaf"), world.deaf("write", barrier)];
    const batch = await world.start("a:deaf b:write", { tools, deadlines: { toolCallSeconds: 10 } });
    await world.clock.advance(10);
    expect(lines(await world.finished(batch))).toEqual([
      "a error: deaf took longer than its ceiling of 5 s. The side effect may have landed. (may have landed)",
      "b never_dispatched: never dispatched: deadlines.toolCallSeconds: a turn's tool phase took longer than 10 s",
    ]);
  });

  it("two of them never overlap under one run id, whichever batch they are of; under another they do", async () => {
    const world = new BatchWorld();
    const tools = [world.deaf("one", barrier), world.deaf("other", barrier), world.deaf("third", barrier)];
    const batches = [
      await world.start("a:one", { tools, runId: "r" }),
      await world.start("b:other", { tools, runId: "r" }),
      await world.start("c:third", { tools, runId: "s" }),
    ];
    expect(world.gate.waiting).toEqual(["a", "c"]);
    await world.open("a");
    expect(world.gate.waiting).toEqual(["c", "b"]);
    await world.open("b", "c");
    await Promise.all(batches.map((batch) => world.finished(batch)));
  });

  it("identical arguments are serialised across batches that share lanes, others are not; both run", async () => {
    const world = new BatchWorld();
    const tools = [world.deaf("x", barrier)];
    const start = (id: string, args: unknown) => world.start(callsTo("x", { [id]: args }), { tools, runId: id });
    const batches = [
      await start("a", { p: 1, q: [1, 2] }),
      await start("same", '{"q":[1,2],"p":1}'),
      await start("order", { p: 1, q: [2, 1] }),
    ];
    expect(world.gate.waiting).toEqual(["a", "order"]);
    await world.open("a");
    expect(world.gate.waiting).toEqual(["order", "same"]);
    await world.open("order", "same");
    for (const batch of batches) expect((await world.finished(batch))[0]?.status).toBe("ok");
  });

  it("parallel-safe calls with identical arguments are not", async () => {
    const world = new BatchWorld();
    const batch = await world.start("a:x b:x", { tools: [world.deaf("x")] });
    expect(world.gate.waiting).toEqual(["a", "b"]);
    await world.open("a", "b");
    await world.finished(batch);
  });

  it("a body may run a batch of its own in its places: same tenant, no deadlock, and it knows itself", async () => {
    const world = new BatchWorld({ perTenant: 1 });
    const inner = tool("inner", { run: (_args, ctx) => [ctx.tenant, currentCall() === ctx] });
    const outer = tool("outer", {
      run: async (_args, ctx) => {
        const { lanes, clock } = world;
        const results = await runBatch([{ id: "i", name: "inner", args: {} }], { tools: [inner], lanes, clock });
        return [currentCall() === ctx, ...results.map(({ value, content }) => value ?? content)];
      },
    });
    const batch = await world.start("a:outer", { tools: [outer], tenant: "acme" });
    expect((await world.finished(batch))[0]?.value).toEqual([true, ["acme", true]]);
  });
});
