import { SequentialIds } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

describe("SequentialIds: ids count", () => {
  it("counts each kind by itself, from 1", () => {
    const ids = new SequentialIds();
    expect([ids.next("run"), ids.next("call"), ids.next("run"), ids.next("call"), ids.next("call")]).toEqual([
      "run_1",
      "call_1",
      "run_2",
      "call_2",
      "call_3",
    ]);
  });

  it("starts again for each source", () => {
    new SequentialIds().next("run");
    expect(new SequentialIds().next("run")).toBe("run_1");
  });
});
