import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { report } from "./report-world.ts";

describe("Semantics 7.1: a call that fails is its own failure, and its siblings do not notice", () => {
  report(
    "C82: one of 27 calls throws at once: 26 succeed, and it is told in its own words",
    { starts: { work: 27 } },
    async (world) => {
      const aborted: string[] = [];
      const work = world.tool("work", async ({ no }, { callId, clock, signal }) => {
        signal.addEventListener("abort", () => aborted.push(callId));
        if (no === 2) throw new Error("no such folder: /data");
        await new Promise<void>((resolve) => void clock.setTimer(5 + (((no as number) * 37) % 95), resolve));
        return `done ${no}`;
      });
      const asked = calls(...Array.from({ length: 27 }, (_, no) => ({ work: { no } })));
      const runner = world.runner(new ScriptedProvider(asked, say("ok")), [work]);
      const running = world.run(runner);
      await world.clock.advance(1);
      const run = await world.finish(running);
      expect(run.results.map(({ status, content }) => `${status}: ${content}`)).toEqual(
        asked.toolCalls.map((_, no) => (no === 2 ? "error: work failed: no such folder: /data" : `ok: done ${no}`)),
      );
      expect(aborted).toEqual([]);
    },
  );

  report(
    "C83: a slow call is waited for: nothing ends it that nobody declared",
    { starts: { work: 3 } },
    async (world) => {
      const work = world.tool(
        "work",
        ({ seconds }, { clock }) =>
          new Promise((resolve) => void clock.setTimer((seconds as number) * 1_000, () => resolve(`took ${seconds}`))),
      );
      const asked = calls({ work: { seconds: 0.005 } }, { work: { seconds: 0.7 } }, { work: { seconds: 3_000_000 } });
      const runner = world.runner(new ScriptedProvider(asked, say("ok")), [work]);
      const running = world.run(runner);
      await world.clock.advance(3_000_000);
      const run = await world.finish(running);
      expect(run.results.map(({ content }) => content)).toEqual(["took 0.005", "took 0.7", "took 3000000"]);
    },
  );
});
