/**
 * What a whole run costs beside its tools and its model: one turn of N calls of a tool that does nothing, then an answer.
 *
 *     npx tsx bench/run-overhead.ts
 *
 * Shown is the median of the rounds in µs a call, with the fastest and the slowest. Not measured: networks, schemas of a
 * size, gates, journals, listeners. Other frameworks are not in here yet.
 */
import { Agent, AgentRunner, defineTool, type ModelProvider } from "lanekeeper";
import { calls, say } from "lanekeeper/testing";
import { z } from "zod";

const CALLS_A_ROUND = 4_000;
const WARM_UP = 3;
const ROUNDS = 15;

const noop = defineTool({ name: "noop", description: "", input: z.object({ n: z.number() }), run: () => "ok" });
const agent = new Agent({ name: "agent", model: "m", freeText: true });

function runnerFor(width: number): AgentRunner {
  const asked = calls(...Array.from({ length: width }, (_, n) => ({ noop: { n } })));
  const provider: ModelProvider = {
    name: "scripted",
    generate: async ({ messages }) => (messages.length === 1 ? asked : say("done")),
  };
  return new AgentRunner({
    provider,
    tools: [noop],
    concurrency: { maxConcurrentTools: width },
    limits: { maxCallsPerTurn: width },
  });
}

/** µs a call. */
async function round(width: number): Promise<number> {
  const runner = runnerFor(width);
  const runs = Math.ceil(CALLS_A_ROUND / width);
  const from = performance.now();
  for (let run = 0; run < runs; run++) {
    const { status, results } = await runner.run(agent, "Go.");
    if (status !== "completed" || results.length !== width) throw new Error(`expected ${width} results: ${status}`);
  }
  return ((performance.now() - from) * 1_000) / (runs * width);
}

const rows: Record<string, object> = {};
for (const width of [4, 16, 64, 256]) {
  for (let warm = 0; warm < WARM_UP; warm++) await round(width);
  const took: number[] = [];
  for (let at = 0; at < ROUNDS; at++) took.push(await round(width));
  took.sort((a, b) => a - b);
  const shown = (at: number): number => Math.round((took[at] as number) * 10) / 10;
  rows[`${width} calls a turn`] = { median: shown(ROUNDS >> 1), fastest: shown(0), slowest: shown(ROUNDS - 1) };
}
console.table(rows);
