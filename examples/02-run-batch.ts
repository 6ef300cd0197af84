/**
 * `runBatch` in a loop of one's own: ask a vendor, run the calls of its answer in lanes, send the results back, again.
 *
 * The lanes outlive the loop and are shared with whatever else uses them. `askVendor` stands for a vendor's SDK.
 */
import { defineTool, Lanes, runBatch } from "lanekeeper";

const lanes = new Lanes({ perTool: { search: 2 }, perToolSeconds: { search: 5 } });

const search = defineTool({
  name: "search",
  description: "Looks a place up.",
  input: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  idempotent: true,
  run: async ({ place }) => `${place}: four rooms free`,
});

interface VendorMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  readonly calls?: readonly { id: string; name: string; arguments: string }[];
  readonly answers?: string;
}

/** A vendor that asks for three lookups, one of them with arguments that are no JSON, and then sums up. */
async function askVendor(messages: readonly VendorMessage[]): Promise<VendorMessage> {
  if (messages.some(({ role }) => role === "tool")) return { role: "assistant", text: "Kyoto and Nara have rooms." };
  const calls = ['{"place":"Kyoto"}', '{"place":"Nara"}', '{"place":"Ko'].map((text, at) => ({
    id: `call_${at}`,
    name: "search",
    arguments: text,
  }));
  return { role: "assistant", text: "", calls };
}

const messages: VendorMessage[] = [{ role: "user", text: "Where is a room near Kyoto?" }];
for (;;) {
  const answer = await askVendor(messages);
  messages.push(answer);
  if (answer.calls === undefined) break;
  const calls = answer.calls.map(({ id, name, arguments: args }) => ({ id, name, args }));
  for (const { callId, content } of await runBatch(calls, { tools: [search], lanes, tenant: "acme" })) {
    messages.push({ role: "tool", text: content, answers: callId });
  }
}
for (const { role, text, answers } of messages) console.log(`${(answers ?? role).padEnd(10)} ${text}`);
