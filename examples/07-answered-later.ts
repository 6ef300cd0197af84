/**
 * An approval that is answered later, on another runner: the run waits in a journal, and goes on where it stood.
 *
 * Nothing that has finished runs again, and no gate that was asked is asked again. Here the journal is in memory; one
 * that survives the process plugs in at the same place.
 */
import { Agent, AgentRunner, defineTool, MemoryJournal } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { showTranscript } from "./show/transcript.js";

const search = defineTool({
  name: "search",
  description: "Looks a place up.",
  input: { type: "object" },
  run: () => {
    console.log("  search runs");
    return "four rooms free";
  },
});
const booking = defineTool({
  name: "booking",
  description: "Books a room.",
  input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  requiresApproval: true,
  run: ({ city }, { idempotencyKey }) => {
    console.log(`  booking runs with the key ${idempotencyKey}`);
    return `booked in ${city}`;
  },
});
const planner = new Agent({ name: "planner", model: "scripted", freeText: true });
const journal = new MemoryJournal();
const provider = new ScriptedProvider(
  calls({ search: {} }, { booking: { city: "Kyoto" } }, { booking: { city: "Nara" } }),
  say("All settled."),
);
const options = { provider, tools: [search, booking], agents: [planner], journal };

console.log("in the evening");
const evening = new AgentRunner(options);
const waiting = await evening.run(planner, "Book both.", { tenant: "acme", runId: "trip" });
console.log(`  the run is ${waiting.status}`);
await evening.close();

console.log("the next morning");
const morning = new AgentRunner(options);
const decisions: Record<string, { approve: true } | { approve: false; reason: string }> = {};
for await (const { id, tool, args } of morning.pending({ tenant: "acme" })) {
  const { city } = args as { city: string };
  decisions[id] = city === "Kyoto" ? { approve: true } : { approve: false, reason: "one city is enough" };
  console.log(`  ${tool} in ${city}: ${decisions[id].approve ? "yes" : "no"}`);
}
const run = await morning.resume("trip", { decisions });
showTranscript(run.messages);
if (run.status !== "completed") process.exitCode = 1;
await morning.close();
