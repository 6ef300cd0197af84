/**
 * Agents that call agents, three deep, with every bound at 1: it completes, and never more than one body works at once.
 *
 * Each nested call works on the place of the call above it, so nothing queues behind itself. Nested limiters would
 * stand still here, or let three run.
 */
import { Agent, AgentRunner, agentTool, defineTool } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";

let working = 0;
let most = 0;

const search = defineTool({
  name: "search",
  description: "Looks a place up.",
  input: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  run: async ({ place }) => {
    working += 1;
    most = Math.max(most, working);
    await new Promise((resolve) => setTimeout(resolve, 50));
    working -= 1;
    return `${place}: four rooms free`;
  },
});

const scout = new Agent({ name: "scout", model: "scripted", freeText: true, tools: [search] });
const guide = new Agent({
  name: "guide",
  model: "scripted",
  freeText: true,
  tools: [agentTool(scout, { name: "scout", description: "Looks at a region." })],
});
const planner = new Agent({
  name: "planner",
  model: "scripted",
  freeText: true,
  tools: [agentTool(guide, { name: "guide", description: "Knows a country." })],
});

const twoPlaces = calls({ search: { place: "Kyoto" } }, { search: { place: "Nara" } });
const provider = ScriptedProvider.byAgent({
  planner: [calls({ guide: { input: "Japan" } }, { guide: { input: "Korea" } }), say("Go to Japan.")],
  guide: [calls({ scout: { input: "Kansai" } }), say("Kansai."), calls({ scout: { input: "Jeju" } }), say("Jeju.")],
  scout: [twoPlaces, say("Rooms."), twoPlaces, say("Rooms, too.")],
});
const runner = new AgentRunner({
  provider,
  agents: [planner, guide, scout],
  concurrency: { maxConcurrentTools: 1, perTenant: 1, perTool: { search: 1, scout: 1, guide: 1 } },
});

const run = await runner.run(planner, "Where to?", { tenant: "acme" });
for (const event of run.events) {
  if (event.kind === "tool_dispatched") console.log(`${event.path.padEnd(12)} ${event.tool} starts`);
}
console.log(`${run.status}: at most ${most} search at a time`);
if (run.status !== "completed" || most !== 1) process.exitCode = 1;
await runner.close();
