import type { Approver } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, outcomes, setUp, tool } from "./setting.ts";

const EAGER = { dispatch: "eager" } as const;

describe("Semantics 2.4, 3.5, 3.6, 3.10: what a person answered behind a call that holds back is kept", () => {
  for (const options of [{}, EAGER])
    it(`2.4, 3.5, 3.6: what a person answered behind a call that holds back is kept, and nobody is asked again: ${JSON.stringify(options)}`, async () => {
      const shown: string[] = [];
      const approver: Approver = ({ callId }) => {
        shown.push(callId);
        return callId === "W" ? { suspend: true } : callId === "b" ? { result: "by hand" } : { approve: true };
      };
      const provider = new ScriptedProvider(
        calls({ id: "W", name: "write" }, { id: "b", name: "pay" }, { id: "c", name: "pay" }),
        say("ok"),
      );
      const tools = [
        tool("write", () => "wrote", { requiresApproval: true, parallelSafe: false }),
        tool("pay", () => "paid", { requiresApproval: true }),
      ];
      const planner = agent("planner");
      const { runner, clock } = setUp(provider, tools, { ...options, approver, agents: [planner] });
      const run = await clock.promptly(runner.run(planner, "Go."));
      if (run.status !== "suspended") throw new Error(run.status);
      const then = outcomes(run);
      const id = run.pending[0]?.id as string;
      const second = await clock.promptly(runner.resume(run.id, { decisions: { [id]: { approve: true } } }));
      expect(outcomes(second)).toEqual(["W ok: wrote", "b ok: by hand", "c ok: paid"]);
      expect(shown).toEqual(["W", "b", "c"]);
      expect(then).toEqual(["b ok: by hand"]);
    });
});
