import { describe, expect, it } from "vitest";
import { LanesAtWork, states } from "./lanes-at-work.ts";

describe("Semantics 4.4, 4.5: tryAcquire gives a permit exactly when acquire would not wait", () => {
  it("gives one while there are places, and then undefined", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const permit = work.lanes.tryAcquire({ tool: "search" });
    expect(permit?.tool).toBe("search");
    expect(work.lanes.tryAcquire({ tool: "search" })).toBeUndefined();
    permit?.release();
    expect(work.lanes.tryAcquire({ tool: "search" })).toBeDefined();
  });

  it("takes nothing when any lane is full, and leaves no lane behind", async () => {
    const work = new LanesAtWork({ perTenant: 1, perTool: { search: 1 } });
    await work.ask({ tool: "search" });
    expect(work.lanes.tryAcquire({ tenant: "acme", tool: "search" })).toBeUndefined();
    expect(work.lane("tenant:acme")).toBeUndefined();
  });

  it("does not overtake a call that waits for a place that is kept for it", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const holder = await work.ask({ tool: "search" });
    const waiting = await work.ask({ tool: "search" });
    await work.release(holder);
    expect(work.lanes.tryAcquire({ tool: "search" })).toBeUndefined();
    expect(states([waiting])).toEqual(["held"]);
  });

  it("borrows from a caller like acquire", async () => {
    const work = new LanesAtWork({ perTool: { search: 1 } });
    const caller = await work.ask({ tool: "search" });
    const nested = work.lanes.tryAcquire({ tool: "search" }, { within: caller.held, holder: "mine" });
    expect(nested?.holder).toBe("mine");
    expect(work.lanes.tryAcquire({ tool: "search" }, { within: caller.held })).toBeUndefined();
  });
});
