import { currentCall } from "lanekeeper";
import { calls, Gate, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, setUp, tool } from "./setting.ts";

describe("Semantics 2.8: a detached run stands apart from the call that started it, also when it stops", () => {
  it("a detached run's signals abort outside the call that started it, and a run started there is one of its own", async () => {
    const seen: unknown[] = [];
    const controller = new AbortController();
    const gate = new Gate<string>();
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ id: "o", name: "outer" }), say("x")],
      apart: [calls({ id: "i", name: "inner" })],
      cleaner: [say("clean")],
    });
    let apart: Promise<unknown> = Promise.resolve();
    let cleaner: Promise<{ id: string }> | undefined;
    const inner = tool("inner", (_, { signal }) => {
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          seen.push(currentCall()?.callId);
          cleaner = runner.run(agent("cleaner", { tools: [] }), "Go.");
          reject(signal.reason);
        }),
      );
    });
    const outer = tool("outer", async () => {
      apart = runner.run(agent("apart", { tools: ["inner"] }), "Go.", { detached: true, signal: controller.signal });
      return gate.wait("outer");
    });
    const { runner, clock } = setUp(provider, [inner, outer]);
    const running = runner.run(agent("planner", { tools: ["outer"] }), "Go.");
    await clock.settle();
    controller.abort();
    gate.open("outer", "x");
    const { id } = await clock.promptly(running);
    await clock.promptly(apart);
    expect(seen).toEqual([undefined]);
    expect((await cleaner)?.id).not.toBe(id);
  });
});
