/**
 * A deadlock gets a name: two calls that each hold the lane that a run nested in the other one needs.
 *
 * The call whose wait closes the knot fails at once, and says who waits for whom; the other goes on.
 */
import { Agent, AgentRunner, agentTool, type LaneDeadlockError, type Tool } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";

const north: Tool = agentTool(new Agent({ name: "north", model: "scripted", freeText: true, tools: ["ask_south"] }), {
  name: "ask_north",
  description: "Asks the north, who ask the south.",
});
const south: Tool = agentTool(new Agent({ name: "south", model: "scripted", freeText: true, tools: ["ask_north"] }), {
  name: "ask_south",
  description: "Asks the south, who ask the north.",
});
const planner = new Agent({ name: "planner", model: "scripted", freeText: true });

const provider = ScriptedProvider.byAgent({
  planner: [calls({ ask_north: { input: "?" } }, { ask_south: { input: "?" } }), say("Found a way.")],
  north: [calls({ ask_south: { input: "?" } }), say("The north does not know."), say("The north is open.")],
  south: [calls({ ask_north: { input: "?" } }), say("The south does not know."), say("The south is open.")],
});
const runner = new AgentRunner({
  provider,
  tools: [north, south],
  concurrency: { perTool: { ask_north: 1, ask_south: 1 } },
  onEvent: (event) => {
    if (event.kind === "tool_error") console.log(`${event.path} ${event.callId}\n  ${event.error.message}`);
  },
});

const run = await runner.run(planner, "Which way?");
console.log(`${run.status}: ${run.messages.length} messages`);
const named = run.events.filter((event) => event.kind === "tool_error" && event.error.code === "LANE_DEADLOCK");
for (const event of named) {
  if (event.kind === "tool_error") console.log((event.error as unknown as LaneDeadlockError).cycle.join("\n"));
}
if (named.length !== 1) process.exitCode = 1;
await runner.close();
