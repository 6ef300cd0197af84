import { agentTool, MemoryJournal, type Run, type RunnerOptions, ToolFailedError, type ToolOptions } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { about } from "../runner/resuming.ts";
import { agent } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

const MB = 1_000_000;
const LIMIT = 262_144;
/** Two UTF-16 units and four bytes each: after `lead`, the limit falls into each place of one. */
const emojis = (lead: number): string => `${"x".repeat(lead)}${"🗺".repeat(1.25 * MB)}`;

const MARKER = /… \[cut: the first (\d+) of (\d+) characters\]$/;

/** That `content` is the start of `whole`, in whole characters, within the limit, and says how much is missing. */
function expectCut(content: string | undefined, whole: string, limit: number): void {
  const [marker, kept, of] = content?.match(MARKER) ?? [];
  expect(content?.slice(-80)).toMatch(MARKER);
  expect(Number(of)).toBe(whole.length);
  expect(content).toBe(`${whole.slice(0, Number(kept))}${marker}`);
  const bytes = Buffer.byteLength(content ?? "");
  expect(bytes).toBeLessThanOrEqual(limit);
  // No more is missing than one character.
  expect(bytes).toBeGreaterThan(limit - 8);
  expect(Buffer.from(content ?? "").toString() === content, "no half of a character").toBe(true);
}

async function play(world: ReportWorld, values: readonly unknown[], options: RunnerOptions = {}) {
  const big = world.tool("big", ({ no }) => values[no as number]);
  const asked = calls(...values.map((_, no) => ({ big: { no } })));
  return world.finish(world.run(world.runner(new ScriptedProvider(asked, say("ok")), [big], options)));
}

describe("Semantics 2.6: a result that is too long is cut for the model, each to the limit, and kept whole in the run", () => {
  for (const limits of [undefined, { maxResultBytes: 1_000 }]) {
    const limit = limits?.maxResultBytes ?? LIMIT;
    report(
      `C74: several results of 5 MB are each cut to ${limit} bytes, between characters, and text and JSON alike`,
      { starts: { big: 6 } },
      async (world) => {
        const rows = Array.from({ length: 5_000 }, (_, no) => ({ no, place: "Kyōto", note: "🗺".repeat(250) }));
        const values = [0, 1, 2, 3].map(emojis);
        const run = await play(world, [...values, rows, "small"], limits ? { limits } : {});
        const texts = [...values, JSON.stringify(rows)];
        for (const [no, text] of texts.entries()) expectCut(run.results[no]?.content, text, limit);
        expect(run.results.map(({ status }) => status)).toEqual(Array(6).fill("ok"));
        for (const [no, text] of texts.entries()) {
          const value = run.results[no]?.value;
          expect(
            typeof value === "string" ? value === text : JSON.stringify(value) === text,
            `the whole of ${no}`,
          ).toBe(true);
        }
        expect(run.results[5]?.content).toBe("small");
        expect(Buffer.byteLength(JSON.stringify(world.requests[1]))).toBeLessThan(6 * 1.5 * limit + 2_000);
      },
    );
  }

  report(
    "C74: a text of 100 MB is cut like any other, and its neighbour does not notice",
    { starts: { big: 2 } },
    async (world) => {
      const huge = "x".repeat(100 * MB);
      const run = await play(world, [huge, "small"]);
      const content = run.results[0]?.content ?? "";
      expect(content.length).toBeLessThanOrEqual(LIMIT);
      expect(content.slice(-80)).toMatch(/x… \[cut: the first \d+ of 100000000 characters\]$/);
      expect(run.results[0]?.value === huge).toBe(true);
      expect(run.results[1]).toMatchObject({ status: "ok", content: "small" });
    },
  );

  report("C74: a result at the limit is whole, and one byte more is cut", { starts: { big: 2 } }, async (world) => {
    const run = await play(world, ["é".repeat(500), `${"é".repeat(500)}x`], { limits: { maxResultBytes: 1_000 } });
    expect(run.results[0]?.content).toBe("é".repeat(500));
    expectCut(run.results[1]?.content, `${"é".repeat(500)}x`, 1_000);
  });

  const huge = emojis(1);
  const approver = { requiresApproval: true };
  for (const [who, declared, options, runs] of [
    ["an approver who answers in its place", approver, { approver: () => ({ result: huge }) }, false],
    ["a hook that rewrites it", {}, { hooks: [{ name: "h", afterTool: () => ({ result: huge }) }] }, true],
    ["whoever answers a suspended call", approver, { journal: new MemoryJournal() }, false],
  ] as readonly (readonly [string, Partial<ToolOptions>, RunnerOptions, boolean])[]) {
    report(
      `C74: a result that comes from ${who} is cut in the same way`,
      { starts: runs ? { big: 1 } : {} },
      async (world) => {
        const planner = agent("planner");
        const big = world.tool("big", () => "small", declared);
        const script = new ScriptedProvider(calls({ big: {} }), say("ok"));
        const runner = world.runner(script, [big], { agents: [planner], ...options });
        let run = await world.finish(world.run(runner, planner));
        if (run.status === "suspended") {
          const resuming = runner.resume(run.id, { decisions: about(run, { result: huge }) }) as Promise<Run>;
          run = await world.finish(world.keep(resuming));
        }
        expectCut(run.results[0]?.content, huge, LIMIT);
        expect(run.results[0]?.value).toBe(huge);
      },
    );
  }

  report("C74: what an agent that is a tool says is cut in the same way", { starts: {} }, async (world) => {
    const script = ScriptedProvider.byAgent({
      planner: [calls({ helper: { input: "Go." } }), say("ok")],
      helper: [say(huge)],
    });
    const helper = agentTool(agent("helper"), { description: "Helps." });
    const run = await world.finish(world.run(world.runner(script, []), agent("planner", { tools: [helper] })));
    expectCut(run.results[0]?.content, huge, LIMIT);
  });

  report("C74: an error of any length is told in a few lines", { starts: { big: 3 } }, async (world) => {
    const thrown = [new Error(huge), huge, new ToolFailedError(huge)];
    const big = world.tool("big", ({ no }) => Promise.reject(thrown[no as number]));
    const script = new ScriptedProvider(calls(...thrown.map((_, no) => ({ big: { no } }))), say("ok"));
    const run = await world.finish(world.run(world.runner(script, [big])));
    for (const { status, content } of run.results) {
      expect(status).toBe("error");
      expect(content.slice(0, 30)).toMatch(/^big failed: x🗺/);
      expect(content.slice(-1)).toBe("…");
      expect(content.length).toBeLessThan(2_100);
    }
  });
});
