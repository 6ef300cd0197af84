import { DeadlineExceededError, type RunEvent, runBatch } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, tool } from "./batch-world.ts";

describe("Semantics 7.4: deadlines end the whole batch, whatever onToolError says", () => {
  it("toolCallSeconds includes waits for lanes", async () => {
    const world = new BatchWorld({ perTool: { x: 1 } });
    const tools = [world.deaf("x", { idempotent: true })];
    const first = await world.start("busy:x", { tools });
    const batch = await world.start("a:x b:x", { tools, deadlines: { toolCallSeconds: 4.5 } });
    await world.clock.advance(3);
    await world.open("busy");
    await world.clock.advance(1.4);
    expect(world.gate.waiting).toEqual(["a"]);
    await world.clock.advance(0.1);
    const why = "deadlines.toolCallSeconds: a turn's tool phase took longer than 4.5 s";
    const results = await world.finished(batch);
    expect(lines(results)).toEqual([
      `a error: stopped in flight: ${why}. Safe to call again.`,
      `b never_dispatched: never dispatched: ${why}`,
    ]);
    const error = results[0]?.error?.cause;
    expect(error).toBeInstanceOf(DeadlineExceededError);
    expect(error).toMatchObject({ deadline: "toolCallSeconds", seconds: 4.5 });
    await world.finished(first);
  });

  it("people's decisions are excluded from toolCallSeconds, and included in runSeconds", async () => {
    const world = new BatchWorld();
    const tools = [world.deaf("x", { requiresApproval: true })];
    const approver = async () => {
      await world.gate.wait("person");
      return { approve: true } as const;
    };
    const deadlines = { toolCallSeconds: 10, runSeconds: 150 };
    const batch = await world.start("a:x b:x", { tools, approver, deadlines });
    await world.clock.advance(45);
    await world.open("person");
    await world.clock.advance(45);
    await world.open("person");
    await world.clock.advance(9);
    expect(world.gate.waiting).toEqual(["a", "b"]);
    await world.clock.advance(1);
    expect(lines(await world.finished(batch))[0]).toContain("stopped in flight: deadlines.toolCallSeconds");
    const late = await world.start("c:x", { tools, approver, deadlines });
    await world.clock.advance(150);
    expect(lines(await world.finished(late))).toEqual([
      "c never_dispatched: never dispatched: deadlines.runSeconds: the run took longer than 150 s",
    ]);
  });

  it("a deadline of more than 2^31 ms is as long as it says, and none is none", async () => {
    const world = new BatchWorld();
    const leaks = world.leaks();
    const days = 60 * 24 * 3_600;
    const tools = [world.deaf("x")];
    const long = await world.start("a:x", {
      tools,
      deadlines: { toolCallSeconds: days, runSeconds: Number.POSITIVE_INFINITY },
    });
    const none = await world.start("b:x", { tools, deadlines: { toolCallSeconds: undefined } });
    expect(world.clock.pendingTimers().map(({ dueInSeconds }) => dueInSeconds)).toEqual([days]);
    await world.clock.advance(days - 1);
    expect(world.contexts.get("a")?.signal.aborted).toBe(false);
    await world.clock.advance(1);
    expect(lines(await world.finished(long))[0]).toContain("stopped in flight: deadlines.toolCallSeconds");
    await world.open("a", "b");
    expect(lines(await world.finished(none))).toEqual(["b ok: b"]);
    await leaks.done();
  });

  it("is measured on the monotonic clock: a jump of the wall clock ends nothing", async () => {
    const world = new BatchWorld();
    const leaks = world.leaks();
    const events: RunEvent[] = [];
    const batch = await world.start("a:x", {
      tools: [world.deaf("x")],
      deadlines: { toolCallSeconds: 10, runSeconds: 20 },
      onEvent: (event) => events.push(event),
    });
    world.clock.jumpWallClock(1_000_000);
    await world.clock.advance(9);
    await world.open("a");
    expect(lines(await world.finished(batch))).toEqual(["a ok: a"]);
    expect(events.find((event) => event.kind === "tool_completed")).toMatchObject({ seconds: 9 });
    await leaks.done();
  });

  it("anything but a positive number of seconds is refused at the door", async () => {
    const tools = [tool("x", { run: () => "" })];
    for (const field of ["toolCallSeconds", "runSeconds", "modelCallSeconds"]) {
      for (const value of [0, -1, Number.NaN, "5", null, {}]) {
        await expect(runBatch([], { tools, deadlines: { [field]: value } })).rejects.toMatchObject({
          code: "CONFIGURATION",
          message: expect.stringContaining(`deadlines.${field}: expected a number of seconds above 0`),
        });
      }
    }
  });
});
