import { agentTool } from "lanekeeper";
import { calls, Gate, leakCheck, ScriptedProvider } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, outcomes, setUp, tool } from "./setting.ts";

describe("Semantics 7.1, 8: under fail_run nothing goes out below a sibling once a call has failed", () => {
  it("a nested call that waited for the failed call's place is never dispatched", async () => {
    const gate = new Gate<string>();
    const started: string[] = [];
    const pay = tool(
      "pay",
      (_, { callId }) => {
        started.push(callId);
        return gate.wait(callId);
      },
      { resource: "bank" },
    );
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ id: "sub", name: "sub", args: { input: "x" } }, { id: "first", name: "pay", args: {} })],
      worker: [calls({ id: "below", name: "pay", args: {} })],
    });
    const sub = agentTool(agent("worker", { tools: ["pay"] }), { name: "sub", description: "" });
    const { runner, clock, heard } = setUp(provider, [pay, sub], { concurrency: { perResource: { bank: 1 } } });
    const leaks = leakCheck(runner, { clock });
    const running = runner.run(agent("planner", { onToolError: "fail_run" }), "Go.");
    await clock.settle();
    expect(started).toEqual(["first"]);
    gate.fail("first", new Error("no money"));
    const run = await clock.promptly(running);
    expect(errorOf(run).message).toBe("pay failed: no money");
    // No body starts that would only be stopped in flight, and may have landed.
    expect(started).toEqual(["first"]);
    expect(
      heard.flatMap((event) => (event.kind === "tool_error" && event.callId === "below" ? event.detail : [])),
    ).toEqual(["never dispatched: a sibling failed: pay failed: no money"]);
    expect(outcomes(run)).toEqual([
      "sub indeterminate: stopped in flight: a sibling failed: pay failed: no money. The side effect may have landed.",
      "first error: pay failed: no money",
    ]);
    await leaks.done();
  });
});
