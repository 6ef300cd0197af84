/**
 * Tool concurrency, in five scenes: four lookups at once, the same four two at a time, one failure among three
 * successes, a hanging tool cut off by its own ceiling, and an order-dependent tool alone.
 *
 * The model is a script, so this runs offline. While a scene runs there is one line per lane; after it comes the
 * transcript, in call order, and what each call waited for.
 */
import { Agent, AgentRunner, type ConcurrencyOptions, defineTool, type ModelResponse } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { LaneLines } from "./show/lane-lines.js";
import { showTranscript } from "./show/transcript.js";
import { showWaits } from "./show/waits.js";

const LOOKUP_MS = 600;

/** A lookup somewhere else: it takes a while, and ends at once when it is told to stop. */
function lookUp(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

const search = defineTool({
  name: "search",
  description: "Looks a place up.",
  input: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  idempotent: true,
  run: async ({ place }, { signal }) => {
    await lookUp(LOOKUP_MS, signal);
    if (place === "Atlantis") throw new Error("no such place");
    return `${place}: four rooms free`;
  },
});

const weather = defineTool({
  name: "weather",
  description: "Asks a service that never answers.",
  input: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  idempotent: true,
  run: (_args, { signal }) => lookUp(60_000, signal),
});

const booking = defineTool({
  name: "booking",
  description: "Books a room.",
  input: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  parallelSafe: false,
  run: async ({ place }, { signal }) => {
    await lookUp(LOOKUP_MS / 2, signal);
    return `booked in ${place}`;
  },
});

const fourLookups = calls(
  { search: { place: "Kyoto" } },
  { search: { place: "Uji" } },
  { search: { place: "Nara" } },
  { search: { place: "Kobe" } },
);

interface Scene {
  readonly title: string;
  /** What the model asks for in its one turn with calls. */
  readonly asked: ModelResponse;
  /** What the agent narrows. */
  readonly narrowed?: ConcurrencyOptions;
}

const scenes: readonly Scene[] = [
  { title: "Four lookups at once", asked: fourLookups },
  { title: "The same four, two at a time", asked: fourLookups, narrowed: { maxConcurrentTools: 2 } },
  {
    title: "One failure among three successes",
    asked: calls(
      { search: { place: "Kyoto" } },
      { search: { place: "Atlantis" } },
      { search: { place: "Nara" } },
      { search: { place: "Kobe" } },
    ),
  },
  {
    title: "A hanging tool, cut off by its own ceiling",
    asked: calls({ search: { place: "Kyoto" } }, { weather: { place: "Kyoto" } }, { search: { place: "Nara" } }),
  },
  {
    title: "An order-dependent tool, alone",
    asked: calls(
      { search: { place: "Kyoto" } },
      { search: { place: "Nara" } },
      { booking: { place: "Kyoto" } },
      { search: { place: "Uji" } },
    ),
  },
];

for (const [index, { title, asked, narrowed = {} }] of scenes.entries()) {
  console.log(`\n${index + 1}. ${title}\n`);
  const runner = new AgentRunner({
    provider: new ScriptedProvider(asked, say("Here is what I found.")),
    tools: [search, weather, booking],
    concurrency: { maxConcurrentTools: 8, perTool: { search: 4, booking: 1 }, perToolSeconds: { weather: 1 } },
  });
  const planner = new Agent({
    name: "planner",
    instructions: "Plan trips.",
    model: "scripted",
    freeText: true,
    concurrency: narrowed,
  });

  const lines = new LaneLines(runner);
  const run = await runner.run(planner, "Four nights near Kyoto.", { tenant: "acme", onEvent: () => lines.show() });
  lines.done();

  if (run.status !== "completed") throw new Error(`expected the run to complete, got ${run.status}`);
  showTranscript(run.messages);
  showWaits(run.events);
  await runner.close();
}
