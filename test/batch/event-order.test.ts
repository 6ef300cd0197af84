import { FakeClock } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { EventLog, liveOrder, type Section, type UnplacedEvent } from "../../src/batch/event-log.ts";
import type { RunEvent } from "../../src/protocol/event.ts";

const call = (callId: string, detail: string): UnplacedEvent => ({
  kind: "tool_queued",
  callId,
  tool: "t",
  tenant: "default",
  turn: 1,
  position: 0,
  detail,
});
const show = (events: readonly RunEvent[]): string[] =>
  events.map(
    (event) => `${event.seq} ${event.path} ${"detail" in event ? `${event.callId} ${event.detail}` : event.kind}`,
  );

describe("Semantics 2.3: events stand in call order whatever finished first, and the stream shows them as they happen", () => {
  function log(sink: (event: RunEvent) => void = () => {}): EventLog {
    return new EventLog({ runId: "run_1", path: "0" }, new FakeClock(), liveOrder(), [sink]);
  }

  it("keeps each call's events together, a nested run's inside its call", () => {
    const live: RunEvent[] = [];
    const run = log((event) => live.push(event));
    run.emit({ kind: "run_started", agent: "a", tenant: "default" });
    const [a, b] = [run.openSection(), run.openSection()] as [Section, Section];
    run.emit(call("b", "1"), b);
    run.emit(call("a", "1"), a);
    const nested = run.nest({ path: "0/1.0" }, a);
    run.emit(call("b", "2"), b);
    nested.emit({ kind: "run_started", agent: "n", tenant: "default" });
    run.emit(call("a", "2"), a);
    run.emit({ kind: "run_completed" });
    expect(show(run.settle())).toEqual([
      "0 0 run_started",
      "1 0 a 1",
      "2 0/1.0 run_started",
      "3 0 a 2",
      "4 0 b 1",
      "5 0 b 2",
      "6 0 run_completed",
    ]);
    expect(show(live)).toEqual([
      "0 0 run_started",
      "1 0 b 1",
      "2 0 a 1",
      "3 0 b 2",
      "4 0/1.0 run_started",
      "5 0 a 2",
      "6 0 run_completed",
    ]);
  });

  it("what happens after it settled is told and changes nothing; live-only events are not kept", () => {
    const live: RunEvent[] = [];
    const run = log((event) => live.push(event));
    run.emit({ kind: "text_delta", turn: 1, text: "hi" }, undefined, true);
    const settled = run.settle();
    run.emit({ kind: "run_completed" });
    expect(settled).toEqual([]);
    expect(live.map(({ kind }) => kind)).toEqual(["text_delta", "run_completed"]);
  });

  it("events are frozen all the way down", () => {
    const run = log();
    run.emit({ kind: "run_failed", error: { name: "E", code: "E", message: "m" } });
    const [event] = run.settle() as [Extract<RunEvent, { kind: "run_failed" }>];
    expect(Object.isFrozen(event) && Object.isFrozen(event.error)).toBe(true);
  });
});
