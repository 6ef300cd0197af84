import { type PendingCall, type RunEvent, runBatch, type ToolResult } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, tool } from "./batch-world.ts";

// biome-ignore lint/suspicious/noExplicitAny: what is spoiled may be of any shape.
function spoil(value: any): void {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    spoil(value[key]);
    try {
      if (typeof value[key] !== "function") value[key] = "spoiled";
    } catch {
      // Frozen: spoilt by nobody.
    }
  }
}

describe("Semantics 2.12: arguments, results and events are the runtime's own; who throws loses nothing", () => {
  it("what gates, predicates, bodies and listeners write to what they are given changes nothing elsewhere", async () => {
    const world = new BatchWorld();
    const seen: string[] = [];
    const note = (who: string, value: unknown): void => {
      seen.push(`${who} ${JSON.stringify(value)}`);
      spoil(value);
    };
    const returned = { made: [1] };
    const asks = (call: { args: unknown }, ctx: { tenant: string; signal?: AbortSignal }, who: string): void => {
      note(who, call.args);
      note(`${who} for`, { tenant: ctx.tenant });
      ctx.tenant = "spoiled";
    };
    const x = tool("x", {
      requiresApproval: (args) => {
        note("predicate", args);
        return true;
      },
      parallelSafe: (args) => {
        note("parallelSafe", args);
        return true;
      },
      run: (args, ctx) => {
        note("body", args);
        note("body for", { tenant: ctx.tenant, callId: ctx.callId });
        Object.assign(ctx, { tenant: "spoiled", callId: "spoiled", tool: "spoiled" });
        return returned;
      },
    });
    const given = { q: { deep: 1 } };
    const batch = await world.start([{ id: "a", name: "x", args: given }], {
      tools: [x],
      tenant: "acme",
      onEvent: (event: RunEvent) => spoil(event),
      approver: (request: PendingCall) => {
        note("approver", request.args);
        spoil(request);
        return { approve: true };
      },
      guardrails: [
        {
          name: "g",
          before: (call, ctx) => asks(call, ctx, "guardrail"),
          after: (call, result, ctx) => {
            asks(call, ctx, "guardrail after");
            note("result", result.value);
            spoil(result);
          },
        },
      ],
      hooks: [
        {
          name: "h",
          beforeTool: (call, ctx) => asks(call, ctx, "hook"),
          afterTool: (call, _result, ctx) => asks(call, ctx, "hook after"),
        },
      ],
    });
    const results = await world.finished(batch);
    returned.made.push(2);
    const args = '{"q":{"deep":1}}';
    expect(seen.filter((line) => !line.includes(" for "))).toEqual([
      `guardrail ${args}`,
      `predicate ${args}`,
      `approver ${args}`,
      `hook ${args}`,
      `parallelSafe ${args}`,
      `body ${args}`,
      `guardrail after ${args}`,
      'result {"made":[1]}',
      `hook after ${args}`,
    ]);
    for (const line of seen.filter((told) => told.includes(" for "))) expect(line).toContain('{"tenant":"acme"');
    expect(given).toEqual({ q: { deep: 1 } });
    expect(results).toEqual([
      { callId: "a", name: "x", status: "ok", content: '{"made":[1]}', value: { made: [1] }, mayHaveLanded: false },
    ]);
    expect(batch.events.every((event) => Object.isFrozen(event) && event.runId === "run")).toBe(true);
  });

  it("what a body writes to its context is not what the lanes tell of it", async () => {
    const world = new BatchWorld({ perTool: { x: 1 } });
    const batch = await world.start("a:x", { tools: [world.deaf("x")], tenant: "acme" });
    Object.assign(world.contexts.get("a") ?? {}, { callId: "spoiled", runId: "spoiled", path: "spoiled" });
    const [holder] = world.lanes.snapshot().find(({ lane }) => lane === "tool:x")?.holders ?? [];
    expect(holder).toMatchObject({ callId: "a", runId: "run", path: "0", tenant: "acme", tool: "x" });
    await world.open("a");
    await world.finished(batch);
  });

  it("arguments are read when the batch starts, and not later", async () => {
    const args = { q: "asked" };
    const calls = [{ id: "a", name: "x", args }];
    const running = runBatch(calls, { tools: [tool("x", { run: (given) => given })] });
    args.q = "changed";
    calls.push({ id: "b", name: "x", args });
    expect(lines(await running)).toEqual(['a ok: {"q":"asked"}']);
  });

  it("a listener that throws loses nothing, and what it threw goes to onError; so does what onError throws", async () => {
    const world = new BatchWorld();
    const heard: unknown[] = [];
    const leaks = world.leaks();
    const options = { tools: [tool("x", { run: () => "ran" })] };
    const throws = await world.start("a:x", {
      ...options,
      onEvent: ({ kind }) => {
        throw kind;
      },
      onError: (error) => {
        heard.push(error);
        throw error;
      },
    });
    expect(lines(await world.finished(throws))).toEqual(["a ok: ran"]);
    expect(heard).toEqual(throws.events.map(({ kind }) => kind));
    const rejects = await world.start("a:x", {
      ...options,
      onEvent: (async () => Promise.reject("later")) as never,
      onError: (error) => heard.push(error),
    });
    const results: ToolResult[] = await world.finished(rejects);
    expect([lines(results), heard.at(-1)]).toEqual([["a ok: ran"], "later"]);
    await leaks.done();
  });
});
