import { defineTool } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { z } from "zod";
import { agent } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

/** Every way in which vendors say that a call has no arguments. */
const NOTHING = [
  { args: "" },
  {},
  { args: "   " },
  { args: "\n\t" },
  { args: "{}" },
  { args: " { } " },
  { args: {} },
  { args: null },
  { args: undefined },
];

/** Tools that want nothing, something they have a default for, and something that is required. */
function tools(world: ReportWorld) {
  const body = (args: Record<string, unknown>): string => JSON.stringify(args);
  const [now, page, find] = ["now", "page", "find"].map((name) => world.tool(name, body)) as [Now, Now, Now];
  const like = ({ name, description, run }: Now) => ({ name, description, ...(run && { run }) });
  return [
    now,
    defineTool({ ...like(page), input: z.object({ page: z.number().default(1) }) }),
    defineTool({ ...like(find), input: z.object({ q: z.string() }) }),
  ];
}
type Now = ReturnType<ReportWorld["tool"]>;

describe("Semantics 2.5: a call without arguments has none, however the vendor says so", () => {
  for (const [asked, isStreamed] of [
    ["asked at once", false],
    ["streamed", true],
  ] as const) {
    report(
      `C65: ${asked}, missing, empty and blank arguments are {}: each tool takes them or says what it wants`,
      { starts: { now: NOTHING.length, page: NOTHING.length } },
      async (world) => {
        const batch = calls(
          ...NOTHING.flatMap((nothing, no) =>
            ["now", "page", "find"].map((name) => ({ id: `${name}${no}`, name, ...nothing })),
          ),
        );
        const runner = world.runner(new ScriptedProvider(batch, say("ok")), tools(world));
        const running = isStreamed
          ? world.keep(runner.stream(agent("planner"), "Go.").run)
          : world.run(runner, agent("planner"));
        const run = await world.finish(running);
        const missing = expect.stringMatching(/^error: find: bad arguments: q: ./);
        expect(run.results.map(({ status, content }) => `${status}: ${content}`)).toEqual(
          NOTHING.flatMap(() => ["ok: {}", 'ok: {"page":1}', missing]),
        );
        const [, turn] = world.requests[1]?.messages ?? [];
        expect(turn).toMatchObject({ toolCalls: batch.toolCalls.map(({ id, name }) => ({ id, name, args: {} })) });
      },
    );
  }

  report(
    "C65: whoever is asked about such a call is shown {} too",
    { starts: { pay: NOTHING.length } },
    async (world) => {
      const seen: unknown[] = [];
      const see = (args: unknown): true => (seen.push(args) > 0) as true;
      const pay = world.tool("pay", () => "paid", { requiresApproval: see, parallelSafe: see });
      const batch = calls(...NOTHING.map((nothing, no) => ({ id: `p${no}`, name: "pay", ...nothing })));
      const runner = world.runner(new ScriptedProvider(batch, say("ok")), [pay], {
        guardrails: [{ name: "g", before: ({ args }) => void see(args) }],
        hooks: [{ name: "h", beforeTool: ({ args }) => void see(args) }],
        approver: ({ args }) => ({ approve: see(args) }),
      });
      await world.finish(world.run(runner));
      expect(new Set(seen.map((args) => JSON.stringify(args)))).toEqual(new Set(["{}"]));
      expect(seen.length).toBeGreaterThanOrEqual(5 * NOTHING.length);
    },
  );
});
