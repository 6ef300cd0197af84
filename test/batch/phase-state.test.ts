import { runBatch, type ToolContext } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { tool } from "./batch-world.ts";

type State = ToolContext["state"];
type Step = (state: State) => unknown;

/** Runs one call for each step; the names of those that are not parallel-safe are in capitals. Gives what each returned. */
async function values(steps: Record<string, Step>): Promise<unknown[]> {
  const tools = Object.entries(steps).map(([name, step]) =>
    tool(name, { parallelSafe: name !== name.toUpperCase(), run: async (_args, { state }) => step(state) }),
  );
  const results = await runBatch(
    tools.map(({ name }) => ({ id: name, name, args: {} })),
    { tools },
  );
  return results.map(({ value, content }) => value ?? content);
}
const sees: Step = (state) => state.toJSON();

describe("Semantics 6: a call sees the state as of its phase's start and its own writes", () => {
  it("siblings see nothing of each other; the next phase sees both, the later call's where they meet", async () => {
    const write =
      (name: string): Step =>
      (state) => {
        state.set("both", name);
        state.set(name, true);
        return state.toJSON();
      };
    expect(await values({ a: write("a"), b: write("b"), c: sees, D: sees })).toEqual([
      { both: "a", a: true },
      { both: "b", b: true },
      {},
      { both: "b", a: true, b: true },
    ]);
  });

  it("call order decides and not who ended first", async () => {
    const slow: Step = async (state) => {
      for (let step = 0; step < 50; step++) await null;
      state.set("k", "slow");
    };
    expect((await values({ slow, quick: (state) => state.set("k", "quick"), D: sees })).at(-1)).toEqual({ k: "quick" });
  });

  it("what a failed call wrote or took away is dropped", async () => {
    const spoil: Step = (state) => {
      state.delete("kept");
      state.set("spoiled", 1);
      throw new Error("boom");
    };
    const [, failed, after] = await values({ A: (state) => state.set("kept", 1), B: spoil, C: sees });
    expect([failed, after]).toEqual(["B failed: boom", { kept: 1 }]);
  });

  it("a copy in and a copy out", async () => {
    const list = [1];
    const write: Step = (state) => {
      state.set("list", list);
      list.push(2);
      (state.get("list") as number[]).push(3);
      return state.get("list");
    };
    expect(await values({ A: write, B: sees })).toEqual([[1], { list: [1] }]);
  });
});
