import { type BatchOptions, type RunEvent, type RunEventKind, runBatch, type ToolResult } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, callsOf, tool } from "./batch-world.ts";

const CALLS = callsOf("u:none g:guarded a:read f:fails r:flaky w:write x:write b:read p:asks q:asks");
const IDEMPOTENT = ["a", "b", "r"];
const VERDICTS: RunEventKind[] = ["tool_result", "tool_error", "tool_indeterminate"];
const AFTERLIFE: RunEventKind[] = ["tool_late_result", "tool_overdue", "tool_abandoned"];
/** Never reached: a timer that is left is found. */
const CEILINGS = { read: 60, fails: 60, flaky: 60, write: 60, asks: 60 };
const WHY = "the batch was cancelled";

/** Every kind of call at once; `onEvent` hears what happens. */
async function run(world: BatchWorld, signal: AbortSignal, gated: boolean, onEvent: BatchOptions["onEvent"]) {
  const body = (name: string, then: (id: string, attempt: number) => unknown) => ({
    run: (_args: unknown, ctx: { callId: string; attempt: number; progress(fraction: number): void }) =>
      world.witness.body(ctx.callId, async () => {
        ctx.progress(0.5);
        await null;
        return then(ctx.callId, ctx.attempt);
      }),
    idempotent: name === "read" || name === "flaky",
  });
  const tools = [
    tool(
      "guarded",
      body("guarded", (id) => id),
    ),
    tool(
      "read",
      body("read", (id) => id),
    ),
    tool(
      "fails",
      body("fails", () => Promise.reject(new Error("own"))),
    ),
    tool("flaky", {
      ...body("flaky", (id, attempt) => (attempt < 3 ? Promise.reject(new Error("again")) : id)),
      retry: { attempts: 3, backoffSeconds: 0 },
    }),
    tool("write", { ...body("write", (id) => id), parallelSafe: false }),
    tool("asks", { ...body("asks", (id) => id), requiresApproval: true }),
  ];
  return await runBatch(CALLS, {
    tools,
    lanes: world.lanes,
    clock: world.clock,
    signal,
    onEvent,
    guardrails: [
      { name: "g", before: ({ name }) => (name === "guarded" ? { refuse: "no" } : undefined) },
      ...(gated ? [{ name: "after", after: async () => undefined }] : []),
    ],
    hooks: gated ? [{ name: "h", afterTool: async () => undefined }] : [],
    approver: async ({ callId }) => (callId === "p" ? { approve: true } : { result: "answered" }),
  });
}

function check(results: readonly ToolResult[], events: readonly RunEvent[], world: BatchWorld): void {
  expect(results.map(({ callId }) => callId)).toEqual(CALLS.map(({ id }) => id));
  for (const result of results) {
    const { callId, status, content } = result;
    const own = events.filter((event) => "callId" in event && event.callId === callId).map(({ kind }) => kind);
    const verdict = own.findIndex((kind) => VERDICTS.includes(kind));
    expect(own.filter((kind) => VERDICTS.includes(kind))).toHaveLength(1);
    expect(own.slice(verdict + 1).filter((kind) => !AFTERLIFE.includes(kind))).toEqual([]);
    const starts = own.filter((kind) => kind === "tool_dispatched").length;
    expect(world.witness.starts(callId)).toBe(starts);
    expect(own[verdict]).toBe(
      status === "ok" ? "tool_result" : status === "indeterminate" ? "tool_indeterminate" : "tool_error",
    );
    // A body that ended by itself has its own outcome; any other was stopped in flight, or never started.
    const ended = own.filter((kind) => kind === "tool_completed").length;
    const stopped =
      status === "never_dispatched"
        ? `never dispatched: ${WHY}`
        : IDEMPOTENT.includes(callId)
          ? `stopped in flight: ${WHY}. Safe to call again.`
          : `stopped in flight: ${WHY}. The side effect may have landed.`;
    if (starts === 0) {
      expect(["never_dispatched", callId === "u" ? "error" : "", callId === "q" ? "ok" : ""]).toContain(status);
      if (callId === "g") expect([stopped, "never dispatched: denied: no"]).toContain(content);
      else if (status === "never_dispatched") expect(content).toBe(stopped);
    } else if (callId === "f" && ended === 1) expect(content).toBe("fails failed: own");
    else if (callId === "r" && ended < 3) expect([stopped, "flaky failed: again"]).toContain(content);
    else if (ended === starts) expect([status, result.value]).toEqual(["ok", callId]);
    else expect(content).toBe(stopped);
    expect(result.mayHaveLanded).toBe(status === "indeterminate");
  }
}

describe("Semantics 2.4, 2.8, 4.10, 8: wherever a batch is stopped, every call has one result that is true of it", () => {
  for (const gated of [false, true]) {
    it(`a listener that aborts at the n-th event, for every n${gated ? ", behind output gates" : ""}`, async () => {
      let all = Number.POSITIVE_INFINITY;
      for (let n = 0; n <= all; n++) {
        const world = new BatchWorld({ perToolSeconds: CEILINGS });
        const { signal, abort } = new Abort();
        const leaks = world.leaks([signal]);
        const events: RunEvent[] = [];
        const results = await run(world, signal, gated, (event) => {
          if (events.push(event) === n) abort();
        });
        await world.clock.settle();
        check(results, events, world);
        await leaks.done();
        if (n === 0) all = events.length;
      }
      expect(all).toBeGreaterThan(50);
    });
  }

  it("an abort after any number of microtasks", async () => {
    for (let steps = 0; steps < 120; steps++) {
      const world = new BatchWorld({ perToolSeconds: CEILINGS });
      const { signal, abort } = new Abort();
      const leaks = world.leaks([signal]);
      const events: RunEvent[] = [];
      const running = run(world, signal, steps % 2 === 0, (event) => events.push(event));
      for (let step = 0; step < steps; step++) await null;
      abort();
      check(await running, events, world);
      await leaks.done();
    }
  });
});

class Abort extends AbortController {
  override readonly abort: () => void = () => super.abort();
}
