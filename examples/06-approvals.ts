/**
 * Approvals, one at a time and in the order asked for, at a terminal; elsewhere the answers are made up.
 *
 * All four calls are decided before the first goes out; what was refused is told to the model and stops nothing else.
 */
import { createInterface } from "node:readline/promises";
import { Agent, AgentRunner, type Approver, defineTool } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { showTranscript } from "./show/transcript.js";

const booking = defineTool({
  name: "booking",
  description: "Books a room.",
  input: {
    type: "object",
    properties: { city: { type: "string" }, nights: { type: "integer" } },
    required: ["city", "nights"],
  },
  parallelSafe: false,
  requiresApproval: ({ nights }) => nights > 1,
  run: async ({ city, nights }) => `booked ${nights} nights in ${city}`,
});

const made: Record<string, string> = { Kyoto: "y", Nara: "2", Kobe: "n" };

const approver: Approver = async ({ tool, args, position, of }, { signal }) => {
  const { city, nights } = args as { city: string; nights: number };
  const question = `${tool} ${nights} nights in ${city}? (call ${position + 1} of ${of}; y, n, or other nights) `;
  let said = made[city] ?? "n";
  if (process.stdin.isTTY) {
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    said = await terminal.question(question, { signal }).finally(() => terminal.close());
  } else console.log(`${question}${said}`);
  if (said === "y") return { approve: true };
  if (/^\d+$/.test(said)) return { approve: true, args: { city, nights: Number(said) } };
  return { approve: false, reason: "the traveller said no" };
};

const provider = new ScriptedProvider(
  calls(
    { booking: { city: "Kyoto", nights: 4 } },
    { booking: { city: "Uji", nights: 1 } },
    { booking: { city: "Nara", nights: 9 } },
    { booking: { city: "Kobe", nights: 3 } },
  ),
  say("Done."),
);
const runner = new AgentRunner({ provider, tools: [booking], approver });
const run = await runner.run(new Agent({ name: "planner", model: "scripted", freeText: true }), "Book it all.");
console.log("");
showTranscript(run.messages);
await runner.close();
