import { type Approver, agentTool } from "lanekeeper";
import { calls, Deferred, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, outcomes, setUp, tool } from "./setting.ts";
import { ends, StreamingModel, streamed } from "./streaming.ts";

const EAGER = { dispatch: "eager" } as const;
const again = { idempotent: true } as const;
const done = [ends(say("done"))];

describe("Semantics 3.10, 7.5: what went out is retried as declared, and nothing below it goes further than it may", () => {
  it("3.10, 7.5: what went out is retried as declared, also when its response was cut off", async () => {
    let attempts = 0;
    const search = tool(
      "search",
      () => {
        attempts++;
        if (attempts === 1) throw new Error("flaky");
        return "found";
      },
      { ...again, retry: { attempts: 3, backoffSeconds: 1, maxBackoffSeconds: 1 } },
    );
    const cut = { ...calls({ id: "a", name: "search", args: { q: "a" } }), finishReason: "length" as const };
    const whole = new Deferred<void>();
    const model = new StreamingModel([...cut.toolCalls.flatMap(streamed), whole.promise, ends(cut)], done);
    const { runner, clock } = setUp(model, [search], EAGER);
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    whole.resolve();
    await clock.settle();
    await clock.advance(2);
    expect(outcomes(await clock.promptly(running))).toEqual(["a ok: found"]);
  });

  it("3.10, B4: nobody is asked below a call of a response that is not whole, and nothing else goes out there", async () => {
    const shown: string[] = [];
    const ran: string[] = [];
    const approver: Approver = ({ callId }) => {
      shown.push(callId);
      return { approve: true };
    };
    const below = calls({ id: "p", name: "pay", args: { x: 1 } });
    const response = calls({ id: "s", name: "sub", args: { input: "x" } });
    const model = new StreamingModel(
      [...response.toolCalls.flatMap(streamed), new Promise(() => {})],
      [ends(below)],
      [ends(say("worked"))],
    );
    const pay = tool("pay", () => ran.push("paid"), { requiresApproval: true });
    const { runner, clock } = setUp(model, [pay], { ...EAGER, approver });
    const c = new AbortController();
    const sub = agentTool(agent("worker", { tools: ["pay"] }), { name: "sub", description: "", ...again });
    const running = runner.run(agent("planner", { tools: [sub] }), "Go.", { signal: c.signal });
    await clock.settle();
    const before = [[...shown], [...ran]];
    c.abort();
    await clock.promptly(running);
    expect(before).toEqual([[], []]);
  });
});
