import { AsyncLocalStorage } from "node:async_hooks";
import { Lanes } from "lanekeeper/lanes";
import { Gate } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { currentPermit } from "../../src/lanes/current-permit.ts";
import { LanesAtWork } from "./lanes-at-work.ts";

describe("Semantics 4.11: a body sees the async context of its own run", () => {
  it("never that of the call whose release let it in", async () => {
    const lanes = new Lanes({ perTool: { search: 1 } });
    const run = new AsyncLocalStorage<string>();
    const gate = new Gate();
    const seen: (string | undefined)[] = [];
    const first = run.run("first", () => lanes.use({ tool: "search" }, () => gate.wait("first")));
    const second = run.run("second", () =>
      lanes.use({ tool: "search" }, async () => {
        seen.push(run.getStore());
        await Promise.resolve();
        seen.push(run.getStore());
      }),
    );
    await gate.arrived("first");
    run.run("releaser", () => gate.open("first", undefined));
    await Promise.all([first, second]);
    expect(seen).toEqual(["second", "second"]);
  });

  it("a body that waited and one that did not both find their own permit", async () => {
    const lanes = new Lanes({ perTool: { search: 1 } });
    const found: boolean[] = [];
    const look = async (permit: unknown): Promise<void> => {
      found.push(currentPermit() === permit);
      await Promise.resolve();
      found.push(currentPermit() === permit);
    };
    await Promise.all([lanes.use({ tool: "search" }, look), lanes.use({ tool: "search" }, look)]);
    expect(found).toEqual([true, true, true, true]);
    expect(currentPermit()).toBeUndefined();
  });

  it("whoever awaited a permit is not in its context, and `enter` puts a body there", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const { held } = await work.ask({ tool: "search" });
    expect(currentPermit()).toBeUndefined();
    expect(await held.enter(async () => currentPermit())).toBe(held);
    expect(currentPermit()).toBeUndefined();
  });

  it("a body starts in the turn of the loop in which it was granted, and never inside a release", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const holder = await work.ask({ tool: "search" });
    let started = false;
    const used = work.lanes.use({ tool: "search" }, () => {
      started = true;
    });
    holder.held.release();
    expect(started).toBe(false);
    await used;
    expect(started).toBe(true);
  });

  it("a body that need not wait starts before `use` returns", () => {
    const lanes = new Lanes({ perTool: { search: 1 } });
    let started = false;
    void lanes.use({ tool: "search" }, () => {
      started = true;
    });
    expect(started).toBe(true);
  });
});
