import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, faults, kinds, outcomes, setUp, tool } from "./setting.ts";

describe("Semantics 2.9: a response that was cut off, refused or filtered runs none of its calls", () => {
  for (const [finishReason, why] of [
    ["length", "the response was cut off"],
    ["refusal", "the model refused to go on"],
    ["content_filter", "the response was filtered"],
  ] as const) {
    it(`with ${finishReason} each call is told so, and the model is asked again`, async () => {
      const provider = new ScriptedProvider(
        {
          ...calls(
            { id: "a", name: "book", args: { q: "x" } },
            { id: "b", name: "book", args: '{"q":"half' },
            { id: "c", name: "nowhere" },
          ),
          content: "Book",
          finishReason,
        },
        say("done"),
      );
      let ran = 0;
      const { runner, clock } = setUp(provider, [tool("book", () => void ran++, { requiresApproval: true })], {
        approver: () => {
          throw new Error("nobody is asked");
        },
      });
      const leaks = leakCheck(runner, { clock, provider });
      const run = await clock.promptly(runner.run(agent("planner", { onToolError: "fail_run" }), "Go."));
      expect(run).toMatchObject({ status: "completed", output: "done" });
      expect(ran).toBe(0);
      const said = `never dispatched: ${why}`;
      expect(outcomes(run)).toEqual(["a", "b", "c"].map((id) => `${id} never_dispatched: ${said}`));
      expect(kinds(run.events, "a")).toEqual(["tool_requested", "tool_error"]);
      expect(provider.requests[1]?.messages.slice(1)).toEqual([
        {
          role: "assistant",
          content: "Book",
          toolCalls: [
            { id: "a", name: "book", args: { q: "x" } },
            { id: "b", name: "book", args: { unparsed_arguments: '{"q":"half' } },
            { id: "c", name: "nowhere", args: {} },
          ],
        },
        { role: "tool", callId: "a", name: "book", content: said, isError: true },
        { role: "tool", callId: "b", name: "book", content: said, isError: true },
        { role: "tool", callId: "c", name: "nowhere", content: said, isError: true },
      ]);
      expect(faults(run)).toEqual([]);
      await leaks.done();
    });
  }

  it("stop, tool_calls and other let calls run", async () => {
    for (const finishReason of ["stop", "tool_calls", "other"] as const) {
      const provider = new ScriptedProvider({ ...calls({ book: {} }), finishReason }, say("done", { finishReason }));
      const { runner } = setUp(provider, [tool("book", () => "booked")]);
      const run = await runner.run(agent("planner"), "Go.");
      expect(outcomes(run)).toEqual(["t1_book_0 ok: booked"]);
      provider.assertFinished();
    }
  });
});
