import { FakeClock } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { Activity } from "../../src/batch/activity.ts";
import { Ceiling } from "../../src/batch/ceiling.ts";

describe("Semantics 3.8: a ceiling stands still while everything below it waits", () => {
  it("fires once after its seconds, and not after a cancel", async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    new Ceiling(clock, 2, () => fired.push("a"));
    new Ceiling(clock, 1, () => fired.push("b")).cancel();
    await clock.advance(1.9);
    expect(fired).toEqual([]);
    await clock.advance(10);
    expect(fired).toEqual(["a"]);
    expect(clock.pending.foreground).toBe(0);
  });

  it("counts only the time in which it was running", async () => {
    const clock = new FakeClock();
    const fired: number[] = [];
    const ceiling = new Ceiling(clock, 2, () => fired.push(clock.monotonic()));
    await clock.advance(1.5);
    ceiling.pause();
    ceiling.pause();
    await clock.advance(100);
    expect(fired).toEqual([]);
    ceiling.resume();
    ceiling.resume();
    await clock.advance(0.4);
    expect(fired).toEqual([]);
    await clock.advance(0.1);
    expect(fired).toEqual([102_000]);
    ceiling.resume();
    await clock.advance(100);
    expect(fired).toHaveLength(1);
  });

  it("a node is busy while anything below works, and waits for lanes before people", () => {
    const run = new Activity();
    const call = new Activity(run);
    const nested = new Activity(call);
    const states: string[] = [];
    run.onChange((state) => states.push(state));
    nested.begin("busy");
    expect([run.state, call.state, nested.state]).toEqual(["busy", "busy", "busy"]);
    nested.begin("people");
    nested.turn("busy", "lanes");
    expect(run.state).toBe("lanes");
    nested.end("lanes");
    expect(run.state).toBe("people");
    nested.end("people");
    expect([run.state, call.state]).toEqual(["idle", "idle"]);
    expect(states).toEqual(["busy", "lanes", "people", "idle"]);
  });

  it("a sibling that works keeps the node above busy", () => {
    const call = new Activity();
    const one = new Activity(call);
    const other = new Activity(call);
    one.begin("busy");
    other.begin("lanes");
    expect(call.state).toBe("busy");
    one.end("busy");
    expect(call.state).toBe("lanes");
  });
});
