/**
 * Narrowing: an agent tightens the runner's bounds for its own turns and for everything below them, and never widens
 * them. The runner's lanes stay as declared for everybody else.
 *
 * How many searches are in flight at once is counted in their bodies.
 */
import {
  Agent,
  AgentRunner,
  agentTool,
  ConcurrencyConfig,
  type ConcurrencyOptions,
  defineTool,
  type Tool,
} from "lanekeeper";
import { calls, say, Witness } from "lanekeeper/testing";
import { check } from "./show/check.js";

console.log("Two configs, and what narrowedTo makes of them");
const declared = new ConcurrencyConfig({ maxConcurrentTools: 8, perTool: { search: 4 } });
const wanted = new ConcurrencyConfig({ maxConcurrentTools: 3, perTool: { search: 99, weather: 1 } });
const narrowed = declared.narrowedTo(wanted);
for (const [name, { maxConcurrentTools, perTool }] of Object.entries({ declared, wanted, narrowed })) {
  console.log(`  ${name.padEnd(9)} ${maxConcurrentTools} a turn, ${JSON.stringify(perTool)}`);
}
check("the smaller of each number", narrowed.maxConcurrentTools === 3 && narrowed.perTool.search === 4);
check("the names of both", narrowed.perTool.weather === 1);
check("a config of its own", declared.maxConcurrentTools === 8 && declared.perTool.weather === undefined);

let witness = new Witness();
const search = defineTool({
  name: "search",
  description: "Looks a place up.",
  input: { type: "object" },
  run: (_args, { runId }) => witness.body(runId, () => new Promise((resolve) => setTimeout(resolve, 20, "four rooms"))),
});

/** An agent with one tool, which its model asks for six times. */
function agent(name: string, concurrency: ConcurrencyOptions, tool: Tool = search): Agent {
  return new Agent({ name, model: "six at once", freeText: true, tools: [tool], concurrency });
}
const guide = agentTool(agent("guide", { maxConcurrentTools: 99 }), { name: "guide", description: "Knows a country." });
const plain = agent("plain", {});
const narrow = agent("narrow", { perTool: { search: 2 } });

const runner = new AgentRunner({
  concurrency: declared,
  tools: [search],
  provider: {
    name: "six at once",
    generate: async ({ messages, tools }) => {
      if (messages.at(-1)?.role === "tool") return say("Done.");
      return calls(...Array.from({ length: 6 }, (_, at) => ({ [tools[0]?.name ?? ""]: { input: `place ${at}` } })));
    },
  },
});

/** Runs agents at once, and checks how many searches were in flight together at the worst moment. */
async function expectAtMost(most: number, claim: string, ...agents: Agent[]): Promise<void> {
  witness = new Witness();
  const runs = await Promise.all(agents.map((one) => runner.run(one, "Go.", { runId: one.name })));
  const isWhole = runs.every(
    ({ status, results }) => status === "completed" && results.every((one) => one.status === "ok"),
  );
  check(`${most} of ${witness.starts()} searches at once: ${claim}`, isWhole && witness.peak() === most);
}

console.log("\nWhat agents narrow");
await expectAtMost(4, "an agent that narrows nothing has what the runner declares", plain);
await expectAtMost(2, "one that narrows search to 2", narrow);
await expectAtMost(4, "one that would like 99", agent("wide", { maxConcurrentTools: 99, perTool: { search: 99 } }));

console.log("\nWhat is nested stands in the turns above, too");
await expectAtMost(
  2,
  "six guides, who would like 99, below a turn of 2",
  agent("two", { maxConcurrentTools: 2 }, guide),
);
await expectAtMost(1, "six guides below one that narrows search to 1", agent("one", { perTool: { search: 1 } }, guide));

console.log("\nThe runner's lanes stay as declared");
await expectAtMost(4, "the one that narrows, beside one that does not", narrow, plain);
check("2 of them its own at most", witness.peak("narrow") === 2);
for (const { lane, bound, inFlight } of runner.lanes()) console.log(`  ${lane}: ${inFlight} of ${bound} in flight`);
check(
  "none narrowed, none left behind",
  runner.lanes().every(({ lane, bound }) => lane === "tool:search" && bound === 4),
);
await runner.close();
