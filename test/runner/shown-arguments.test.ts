import type { Hook, Run } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { about, payments, pendingOf, setUpPlanner } from "./resuming.ts";

const asked = calls({ id: "a", name: "pay", args: { sum: 5 } }, { id: "b", name: "pay", args: { sum: 7 } });

/** What the transcript shows of each call's arguments. */
const shown = ({ messages }: Run): unknown[] =>
  messages.flatMap((one) => (one.role === "assistant" ? (one.toolCalls ?? []).map(({ args }) => args) : []));

/** Adds what the partner wants to see, and nobody else should. */
const sign: Hook = {
  name: "sign",
  beforeTool: ({ args }) => ({ args: { ...(args as object), token: "t0p" } }),
};

describe("Semantics 3.2: the transcript shows the arguments that somebody approved, and never those that a hook wrote", () => {
  it("with an approver", async () => {
    const { pay, ran } = payments();
    const provider = new ScriptedProvider(asked, say("done"));
    const { runner, clock, planner } = setUpPlanner(provider, [pay], {
      approver: ({ callId }) => ({ approve: true, ...(callId === "a" ? { args: { sum: 3 } } : {}) }),
      hooks: [sign],
    });
    const run = await clock.promptly(runner.run(planner, "Go."));
    expect(ran.map(({ args }) => args)).toEqual([
      { sum: 3, token: "t0p" },
      { sum: 7, token: "t0p" },
    ]);
    expect(shown(run)).toEqual([{ sum: 3 }, { sum: 7 }]);
    expect(JSON.stringify(provider.requests)).not.toContain("t0p");
  });

  it("after a resume, and while another call still waits", async () => {
    const { pay, ran } = payments();
    const provider = new ScriptedProvider(asked, say("done"));
    const { runner, clock, planner } = setUpPlanner(provider, [pay], { hooks: [sign] });
    const first = await clock.promptly(runner.run(planner, "Go."));
    const [a] = pendingOf(first);
    const decisions = { [a?.id ?? ""]: { approve: true as const, args: { sum: 3 } } };
    const second = await clock.promptly(runner.resume(first.id, { decisions }));
    expect(shown(second as Run)).toEqual([{ sum: 3 }, { sum: 7 }]);
    const last = await clock.promptly(runner.resume(first.id, { decisions: about(second, { approve: true }) }));
    expect(shown(last as Run)).toEqual([{ sum: 3 }, { sum: 7 }]);
    expect(ran.map(({ args }) => args.sum)).toEqual([3, 7]);
    expect(JSON.stringify([provider.requests, last.messages])).not.toContain("t0p");
  });
});
