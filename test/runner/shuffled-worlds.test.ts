import { agentTool, type Message, type Run, type RunEvent } from "lanekeeper";
import { calls, Gate, ScriptedProvider, say, seededRandom } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, setUp, tool } from "./setting.ts";

const wanted = (topic: string): string[] => [1, 2, 3, 4].map((number) => `${topic}${number}`);
const LOOKUPS = ["x", "y", "z"].flatMap(wanted);

/** Twelve lookups, eight of them below two researchers, in lanes of five and two, let go in an order of chance. */
async function shuffled(seed: number): Promise<{ run: Run; order: string }> {
  const random = seededRandom(seed);
  const gate = new Gate<string>();
  const lookup = tool("lookup", async ({ q }, { state }) => {
    state.set("last", q);
    const said = await gate.wait(q as string);
    if (said === "fails") throw new Error(`no ${q}`);
    return said;
  });
  const researcher = agent("researcher", { tools: ["lookup"], concurrency: { maxConcurrentTools: 2 } });
  const provider = ScriptedProvider.byAgent({
    planner: [
      calls(...wanted("x").map((q) => ({ lookup: { q } })), { research: { input: "y" } }, { research: { input: "z" } }),
      say("done"),
    ],
    researcher: Array.from({ length: 4 }, () => ({ messages }: { messages: Message[] }) => {
      const topic = String(messages[0]?.content);
      if (messages.length > 1) return say(`knows ${topic}`);
      return calls(...wanted(topic).map((q) => ({ lookup: { q } })));
    }),
  });
  const { runner, clock } = setUp(provider, [lookup, agentTool(researcher, { name: "research", description: "" })], {
    concurrency: { perTool: { lookup: 5 } },
  });
  const running = runner.run(agent("planner"), "Go.");
  const order: string[] = [];
  while (order.length < LOOKUPS.length) {
    await clock.settle();
    const { waiting } = gate;
    const label = waiting[Math.floor(random() * waiting.length)] as string;
    order.push(label);
    gate.open(label, /[23]$/.test(label) && label.startsWith("y") ? "fails" : `found ${label}`);
  }
  return { run: await clock.promptly(running), order: order.join() };
}

/** Everything but measured seconds; the clock stands still, so that instants are the same, too. */
const told = (events: readonly RunEvent[]): unknown[] =>
  events.map((event) => ("waitedSeconds" in event ? { ...event, waitedSeconds: 0 } : event));

describe("Semantics 2.3: a nested run of twelve calls reads the same, however its lookups finish", () => {
  it("over two hundred shuffles", { timeout: 120_000 }, async () => {
    const first = await shuffled(0);
    const orders = new Set([first.order]);
    for (let seed = 1; seed <= 200; seed++) {
      const { run, order } = await shuffled(seed);
      orders.add(order);
      expect(run.messages, `seed ${seed}`).toEqual(first.run.messages);
      expect(told(run.events), `seed ${seed}`).toEqual(told(first.run.events));
      expect(run.state).toEqual(first.run.state);
    }
    expect(first.run.status).toBe("completed");
    // What never differed has shown nothing.
    expect(orders.size).toBeGreaterThan(190);
  });
});
