/**
 * What a user was promised about lanes and batches, measured by the clock on the wall and counted in the bodies.
 *
 * `npx tsx bench/promised-figures.ts` after a build. The tests assert the same on a clock moved by hand.
 */
import { Agent, AgentRunner, agentTool, defineTool, type ModelResponse } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";

const input = { type: "object" } as const;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const agent = new Agent({ name: "agent", model: "scripted", freeText: true });
const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

/** Counts bodies: how many are alive, and the most at once. */
class Alive {
  now = 0;
  peak = 0;

  async during(work: Promise<void>): Promise<void> {
    this.now += 1;
    this.peak = Math.max(this.peak, this.now);
    await work;
    this.now -= 1;
  }
}

async function timed(asked: ModelResponse, runner: (provider: ScriptedProvider) => AgentRunner): Promise<number> {
  const start = performance.now();
  const run = await runner(new ScriptedProvider(asked, say("done"))).run(agent, "Go.");
  if (run.status !== "completed") throw new Error(`expected the run to complete, got ${run.status}`);
  return performance.now() - start;
}

async function lookups(): Promise<void> {
  const search = defineTool({ name: "search", description: "", input, run: () => sleep(100) });
  const runner = (maxConcurrentTools: number) => (provider: ScriptedProvider) =>
    new AgentRunner({ provider, tools: [search], concurrency: { maxConcurrentTools } });
  const one = await timed(calls({ search: {} }), runner(8));
  const four = await timed(calls(...times(4, { search: {} })), runner(8));
  const wide = await timed(calls(...times(4, { search: {} })), runner(2));
  console.log(
    `four 100 ms lookups: ${four.toFixed(0)} ms, ${(four / one).toFixed(2)} of one; two wide: ${wide.toFixed(0)} ms`,
  );
}

async function subAgents(): Promise<void> {
  const alive = new Alive();
  const leaf = defineTool({ name: "leaf", description: "", input, run: () => alive.during(sleep(10)) });
  const worker = new Agent({ name: "worker", model: "scripted", freeText: true, tools: [leaf] });
  const work = agentTool(worker, { name: "work", description: "" });
  const asked = calls(...times(6, { leaf: {} }));
  const provider = ScriptedProvider.byAgent({
    agent: [calls({ work: { input: "a" } }, { work: { input: "b" } }), say("done")],
    worker: [asked, asked, say("done"), say("done")],
  });
  const runner = new AgentRunner({ provider, tools: [work], agents: [worker], concurrency: { perTool: { leaf: 2 } } });
  await runner.run(agent, "Go.");
  console.log(`two sub-agents, six leaf calls each, under a cap of 2: at most ${alive.peak} leaf bodies alive`);
}

async function deafBodies(): Promise<void> {
  const alive = new Alive();
  const deaf = defineTool({ name: "deaf", description: "", input, run: () => alive.during(sleep(300)) });
  await timed(
    calls(...times(4, { deaf: {} })),
    (provider) =>
      new AgentRunner({
        provider,
        tools: [deaf],
        concurrency: { perTool: { deaf: 1 }, perToolSeconds: { deaf: 0.03 } },
      }),
  );
  console.log(`a cap of 1, a ceiling of 30 ms, four deaf bodies of 300 ms: at most ${alive.peak} alive`);
}

async function headOfLine(): Promise<number> {
  let started = 0;
  let searched = 0;
  const begin = (): void => {
    started ||= performance.now();
  };
  const booking = defineTool({
    name: "booking",
    description: "",
    input,
    run: () => {
      begin();
      return sleep(50);
    },
  });
  const search = defineTool({
    name: "search",
    description: "",
    input,
    run: async () => {
      begin();
      await sleep(5);
      searched = performance.now() - started;
    },
  });
  await timed(
    calls(...times(16, { booking: {} }), ...times(16, { search: {} })),
    (provider) =>
      new AgentRunner({ provider, tools: [booking, search], concurrency: { perTool: { booking: 1, search: 4 } } }),
  );
  return searched;
}

await lookups();
await subAgents();
await deafBodies();
// The first run warms the code up.
await headOfLine();
const searched = (await headOfLine()).toFixed(0);
console.log(
  `16 bookings (1 at a time, 50 ms) before 16 searches (4 at a time, 5 ms): last search done at ${searched} ms`,
);
