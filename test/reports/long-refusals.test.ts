import type { RunnerOptions, ToolOptions } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { report } from "./report-world.ts";

const LIMIT = 262_144;
const huge = "🗺".repeat(1_250_000);

describe("Semantics 2.6, 3.3: what a refused call's result says is cut as any other result is", () => {
  for (const [who, declared, options, starts] of [
    ["an approver", { requiresApproval: true }, { approver: () => ({ approve: false, reason: huge }) }, {}],
    ["a guardrail", {}, { guardrails: [{ name: "g", before: () => ({ refuse: huge }) }] }, {}],
    ["a guardrail that ends the run", {}, { guardrails: [{ name: "g", before: () => ({ endRun: huge }) }] }, {}],
    ["a guardrail on results", {}, { guardrails: [{ name: "g", after: () => ({ refuse: huge }) }] }, { big: 1 }],
    ["a hook", {}, { hooks: [{ name: "h", beforeTool: () => ({ refuse: huge }) }] }, {}],
  ] as readonly (readonly [string, Partial<ToolOptions>, RunnerOptions, Record<string, number>])[]) {
    report(`C74: a reason of 5 MB from ${who} is cut`, { starts }, async (world) => {
      const big = world.tool("big", () => "small", declared);
      const runner = world.runner(
        new ScriptedProvider(calls({ big: {} }), ...(who.endsWith("ends the run") ? [] : [say("ok")])),
        [big],
        options,
      );
      const run = await world.finish(world.run(runner));
      expect(Buffer.byteLength(run.results[0]?.content ?? "")).toBeLessThanOrEqual(LIMIT);
    });
  }
});
