import type { Approver } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, setUp, tool } from "../runner/setting.ts";
import { WatchedJournal } from "./journals.ts";

const host = () => new Promise((resolve) => setImmediate(resolve));
function failing(kind: string, release: () => unknown) {
  const kept = new WatchedJournal();
  const journal = {
    claim: kept.claim.bind(kept),
    load: kept.load.bind(kept),
    pending: kept.pending.bind(kept),
    begin: kept.begin.bind(kept),
    settle: kept.settle.bind(kept),
    append: async (...given: Parameters<WatchedJournal["append"]>) => {
      if (!given[1].some((line) => line.kind === kind)) return kept.append(...given);
      await host();
      throw new Error("disk");
    },
    release: release as never,
  };
  return journal;
}
const waits = () => ({
  approver: (() => ({ suspend: true })) as Approver,
  provider: new ScriptedProvider(calls({ id: "p", name: "pay" }), say("ok")),
  pay: tool("pay", () => "paid", { requiresApproval: true }),
});
describe("Semantics 3.9, 11.1: a journal that has failed keeps no run waiting", () => {
  it("a run that was to wait ends with the journal's first fault, also when letting go throws at once", async () => {
    const { approver, provider, pay } = waits();
    const journal = failing("call_gated", () => {
      throw new Error("gone");
    });
    const { runner, clock } = setUp(provider, [pay], { approver, journal });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect([run.status, (run as { error?: { code?: string } }).error?.code]).toEqual(["failed", "JOURNAL"]);
  });
  it("3.9: a journal that failed and never lets go keeps no run: suspended", async () => {
    const { approver, provider, pay } = waits();
    const journal = failing("call_gated", () => new Promise(() => {}));
    const { runner, clock } = setUp(provider, [pay], { approver, journal, deadlines: { runSeconds: 10 } });
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    await clock.advance(20);
    expect((await clock.promptly(running)).status).toBe("failed");
  });
  it("3.9: a journal that failed and never lets go keeps no run: completed", async () => {
    const journal = failing("model_answered", () => new Promise(() => {}));
    const { runner, clock } = setUp(new ScriptedProvider(say("ok")), [], { journal, deadlines: { runSeconds: 10 } });
    const running = runner.run(agent("planner"), "Go.");
    await clock.settle();
    await clock.advance(20);
    expect(["completed", "failed"]).toContain((await clock.promptly(running)).status);
  });
});
