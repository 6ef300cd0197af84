import { describe, expect, it } from "vitest";
import { RunState } from "../../src/batch/run-state.ts";

const always = (): boolean => true;

describe("Semantics 6: a call sees the phase's start and its own writes; deltas are merged in call order", () => {
  it("reads its own writes and not its siblings'", () => {
    const run = new RunState({ n: { initial: 1 } });
    const [a, b] = [run.view(always), run.view(always)];
    a.state.set("n", 2);
    a.state.delete("gone");
    expect([a.state.get("n"), b.state.get("n")]).toEqual([2, 1]);
    run.merge(a.delta);
    expect(b.state.get("n")).toBe(1);
    expect(run.view(always).state.get("n")).toBe(2);
  });

  it("the later call in call order wins a key, or its reducer combines them", () => {
    const run = new RunState({ notes: { initial: [], reduce: (old: string[], next: string[]) => [...old, ...next] } });
    const [a, b] = [run.view(always), run.view(always)];
    b.state.set("notes", ["b"]);
    b.state.set("last", "b");
    a.state.set("notes", ["a"]);
    a.state.set("last", "a");
    run.merge(a.delta);
    run.merge(b.delta);
    expect(run.toJSON()).toEqual({ notes: ["a", "b"], last: "b" });
  });

  it("a reducer that stops its run, which merges the rest, loses nothing of that", () => {
    const rest: (() => void)[] = [];
    const run = new RunState({
      n: {
        initial: 1,
        reduce: (old: number, next: number) => {
          for (const merge of rest) merge();
          return old + next;
        },
      },
      other: { initial: "old" },
    });
    const [a, b] = [run.view(always), run.view(always)];
    a.state.set("n", 2);
    b.state.set("other", "b");
    rest.push(() => run.merge(b.delta));
    run.merge(a.delta);
    expect(run.toJSON()).toEqual({ n: 3, other: "b" });
  });

  it("a reducer that throws leaves nothing of the delta it was combining", () => {
    const run = new RunState({
      bad: {
        initial: 0,
        reduce: () => {
          throw new Error("no");
        },
      },
    });
    const { state, delta } = run.view(always);
    state.set("fine", 1);
    state.set("bad", 1);
    expect(() => run.merge(delta)).toThrow("no");
    expect(run.toJSON()).toEqual({ bad: 0 });
  });

  it("copies in and out", () => {
    const run = new RunState();
    const mine = { list: [1] };
    const { state, delta } = run.view(always);
    state.set("k", mine);
    mine.list.push(2);
    (state.get("k") as { list: number[] }).list.push(3);
    (state.toJSON().k as { list: number[] }).list.push(4);
    expect(state.get("k")).toEqual({ list: [1] });
    run.merge(delta);
    (run.toJSON().k as { list: number[] }).list.push(5);
    expect(run.toJSON()).toEqual({ k: { list: [1] } });
  });

  it("has and delete look through own writes, and a key named __proto__ is data", () => {
    const run = new RunState({}, { a: 1 });
    const { state, delta } = run.view(always);
    expect(state.delete("a")).toBe(true);
    expect(state.delete("a")).toBe(false);
    expect([state.has("a"), state.get("a")]).toEqual([false, undefined]);
    state.set("__proto__", { x: 1 });
    expect(state.has("toString")).toBe(false);
    run.merge(delta);
    expect(Object.keys(run.toJSON())).toEqual(["__proto__"]);
  });

  it("ignores writes after the verdict, and refuses what is not plain JSON", () => {
    let live = true;
    const run = new RunState();
    const { state, delta } = run.view(() => live);
    const ring: unknown[] = [];
    ring.push(ring);
    expect(() => state.set("ring", ring)).toThrow(/state\.ring: expected plain JSON/);
    live = false;
    state.set("k", 1);
    expect(delta.size).toBe(0);
  });
});
