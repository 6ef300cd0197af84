import { agentTool, type Run, type RunOptions } from "lanekeeper";
import { calls, seededRandom, type WrittenCall } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent } from "../runner/setting.ts";
import { answering, type ReportWorld, report, standing } from "./report-world.ts";

const RUNS = 400;
const CALLS = 50;
const TENANTS = 5;
const WAVES = 10;

const random = seededRandom(77);
const below = (count: number): number => Math.floor(random() * count);

/** What may become of a call, how often, and whether its body starts; a call that a stop reaches may come to nothing. */
const FATES = {
  ok: { weight: 6, tool: "work", starts: true },
  throws: { weight: 2, tool: "work", starts: true },
  circular: { weight: 1, tool: "work", starts: true },
  alone: { weight: 1, tool: "alone", starts: true },
  late: { weight: 2, tool: "slow", starts: true },
  tooLate: { weight: 1, tool: "slow", starts: true },
  nests: { weight: 1, tool: "sub", starts: true },
  denied: { weight: 1, tool: "guarded", starts: false },
  refused: { weight: 1, tool: "work", starts: false },
  hookThrows: { weight: 1, tool: "work", starts: false },
  unknown: { weight: 1, tool: "nowhere", starts: false },
  unreadable: { weight: 1, tool: "work", starts: false },
} as const;
type Fate = keyof typeof FATES;

const DRAWN = Object.entries(FATES).flatMap(([fate, { weight }]) => Array<Fate>(weight).fill(fate as Fate));

/** One run's calls, with ids that tell their fates. */
function batch(): WrittenCall[] {
  return Array.from({ length: CALLS }, (_, no) => {
    const fate = DRAWN[below(DRAWN.length)] as Fate;
    const { tool } = FATES[fate];
    const args = fate === "unreadable" ? "{ not json" : { fate, ms: 10 * (1 + below(4)), no, input: "x" };
    return { id: `${fate}_${no}`, name: tool, args };
  });
}

const batches = Array.from({ length: RUNS }, batch);
const fateOf = (callId: string): Fate => callId.slice(0, callId.indexOf("_")) as Fate;

/** What bodies do, by the fate of their call. None of them listens to its signal. */
async function body({ fate = "ok", ms = 10 }: Record<string, unknown>, world: ReportWorld): Promise<unknown> {
  const far = fate === "tooLate" ? 400 : 0;
  await new Promise<void>((resolve) => void world.clock.setTimer(far + (ms as number), resolve));
  if (fate === "throws") throw new Error("it broke");
  if (fate !== "circular") return fate;
  const value: Record<string, unknown> = {};
  value.itself = value;
  return value;
}

const EXPECTED: Record<string, number> = {};

describe("Semantics 2.4, 4.5, 4.8, 4.10: after a long load of every kind, nothing is left of it", () => {
  report(
    `C77: ${RUNS * CALLS} calls that succeed, fail, are refused, stopped and outlived leave no place, no waiter and no timer`,
    { starts: EXPECTED, timeoutMs: 120_000 },
    async (world) => {
      const provider = answering((input) =>
        input === "x" ? calls({ work: {} }, { work: {} }) : calls(...(batches[Number(input)] as WrittenCall[])),
      );
      const run = (args: Record<string, unknown>): unknown => body(args, world);
      const tools = [
        world.tool("work", run, { resource: "api" }),
        world.tool("alone", run, { parallelSafe: false }),
        world.tool("slow", run, { abandonSeconds: 0.1 }),
        world.tool("guarded", run, { requiresApproval: true }),
        agentTool(agent("worker", { tools: ["work"] }), { name: "sub", description: "" }),
      ];
      const runner = world.runner(provider, tools, {
        concurrency: {
          perTenant: 12,
          perTool: { work: 9, slow: 3, sub: 3 },
          perResource: { api: 8 },
          perToolSeconds: { slow: 0.025 },
        },
        approver: () => ({ approve: false }),
        guardrails: [
          { name: "refuses", before: ({ id }) => (fateOf(id) === "refused" ? { refuse: "no" } : undefined) },
        ],
        hooks: [
          {
            name: "throws",
            beforeTool: ({ id }) => {
              if (fateOf(id) === "hookThrows") throw new Error("a hook broke");
            },
          },
        ],
      });
      const stops: boolean[] = [];
      const runs: Run[] = [];
      for (let wave = 0; wave < WAVES; wave++) {
        const running: Promise<Run>[] = [];
        for (let no = wave; no < RUNS; no += WAVES) {
          const stop = new AbortController();
          const options: RunOptions = { tenant: `t${no % TENANTS}`, signal: stop.signal };
          stops[no] = below(8) === 0;
          if (stops[no]) world.clock.setTimer(10 * below(100), () => stop.abort());
          running.push(world.run(runner, agent("planner"), String(no), options).then((run) => (runs[no] = run)));
        }
        await world.clock.advance(14);
        await world.clock.promptly(Promise.all(running));
      }
      await world.clock.advance(10);
      expect(standing(runner)).toEqual([]);
      for (const [no, { status, results }] of runs.entries()) {
        if (!stops[no]) expect(status).toBe("completed");
        expect(results).toHaveLength(CALLS);
        for (const { callId, name, status } of results) {
          const hasStarted =
            status === "ok" || status === "indeterminate" || (status === "error" && FATES[fateOf(callId)].starts);
          if (!stops[no]) expect([callId, hasStarted]).toEqual([callId, FATES[fateOf(callId)].starts]);
          if (hasStarted && name !== "sub") EXPECTED[name] = (EXPECTED[name] ?? 0) + 1;
        }
      }
      // What nested runs started is told in the outer runs' events.
      const nested = runs.flatMap(({ events }) =>
        events.filter((event) => event.kind === "tool_dispatched" && event.path !== "0"),
      );
      EXPECTED.work = (EXPECTED.work ?? 0) + nested.length;
      expect(nested.length).toBeGreaterThan(500);
      expect(world.heard.filter(({ kind }) => kind === "tool_abandoned").length).toBeGreaterThan(100);
      const ended = new Set(runs.map(({ status }) => status));
      expect([...ended].sort()).toEqual(["cancelled", "completed"]);
    },
  );
});
