import {
  Agent,
  AgentRunner,
  agentTool,
  defineTool,
  type LanekeeperError,
  type Message,
  type PendingCall,
  type Run,
  type RunEvent,
  type RunEventKind,
  runBatch,
  type Tool,
  type ToolContext,
  ToolRegistry,
} from "lanekeeper";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

interface App {
  db: string;
}

const input = z.object({ q: z.string() });
const plain = defineTool({ name: "plain", description: "", input, run: ({ q }) => q });
const needsApp = defineTool({
  name: "needs",
  description: "",
  input,
  run: (_, ctx: ToolContext<App>) => ctx.context.db,
});
const base = { model: "m", freeText: true } as const;
const planner = new Agent({ name: "planner", ...base });

describe("a run is a union on status", () => {
  it("completed has an output, failed and cancelled an error, suspended what is pending", async () => {
    const run = await new AgentRunner({ tools: [plain] }).run(planner, "Go.");
    expectTypeOf(run).toEqualTypeOf<Run<string>>();
    expectTypeOf(run.messages).toEqualTypeOf<Message[]>();
    // @ts-expect-error: only a completed run has an output.
    run.output;
    switch (run.status) {
      case "completed":
        expectTypeOf(run.output).toEqualTypeOf<string>();
        break;
      case "failed":
      case "cancelled":
        expectTypeOf(run.error).toEqualTypeOf<LanekeeperError>();
        break;
      case "suspended":
        expectTypeOf(run.pending).toEqualTypeOf<PendingCall[]>();
        break;
      default:
        expectTypeOf(run).toEqualTypeOf<never>();
    }
  });

  it("a stream gives events and the same run", async () => {
    const stream = new AgentRunner().stream(planner, "Go.");
    for await (const event of stream) expectTypeOf(event).toEqualTypeOf<RunEvent>();
    expectTypeOf(stream.run).toEqualTypeOf<Promise<Run<string>>>();
  });

  it("ctx.run carries the agent's output", () => {
    defineTool({
      name: "sub",
      description: "",
      input,
      run: async (_, ctx) => {
        const run = await ctx.run(planner, "Go.");
        if (run.status === "completed") expectTypeOf(run.output).toEqualTypeOf<string>();
      },
    });
  });
});

describe("context is required where a tool annotates what it expects", () => {
  it("by a tool of the runner", () => {
    const runner = new AgentRunner({ tools: [plain, needsApp] });
    expectTypeOf(runner).toEqualTypeOf<AgentRunner<App>>();
    runner.run(planner, "Go.", { context: { db: "d" } });
    // @ts-expect-error: the runner's tools expect a context.
    runner.run(planner, "Go.");
    // @ts-expect-error: the runner's tools expect a context.
    runner.run(planner, "Go.", { tenant: "acme" });
    // @ts-expect-error: not this one.
    runner.run(planner, "Go.", { context: { db: 5 } });
    // @ts-expect-error: the same for a stream.
    runner.stream(planner, "Go.");
  });

  it("by a tool of the agent, or one that runs an agent with such a tool", () => {
    const runner = new AgentRunner({ tools: [plain] });
    const own = new Agent({ name: "own", ...base, tools: ["plain", needsApp] });
    expectTypeOf(own).toEqualTypeOf<Agent<string, App>>();
    runner.run(own, "Go.", { context: { db: "d" } });
    // @ts-expect-error: the agent's tools expect a context.
    runner.run(own, "Go.");
    const sub = agentTool(own, { name: "sub", description: "" });
    expectTypeOf(sub).toExtend<Tool<{ input: string }, App>>();
    const above = new Agent({ name: "above", ...base, tools: [sub] });
    runner.run(above, "Go.", { context: { db: "d" } });
    // @ts-expect-error: so do those of the agent below.
    runner.run(above, "Go.");
  });

  it("and by nobody else", () => {
    const runner = new AgentRunner({ tools: [plain] });
    expectTypeOf(runner).toEqualTypeOf<AgentRunner<unknown>>();
    runner.run(planner, "Go.");
    runner.run(planner, "Go.", { tenant: "acme" });
    runner.run(new Agent({ name: "own", ...base, tools: ["plain", plain] }), "Go.");
  });
});

describe("an agent as a tool", () => {
  it("takes a text, or what its input declares; toInput is given that", () => {
    expectTypeOf(agentTool(planner, { name: "sub", description: "" })).toExtend<Tool<{ input: string }, unknown>>();
    agentTool(planner, {
      name: "sub",
      description: "",
      input,
      toInput: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ q: string }>();
        return args.q;
      },
    });
  });
});

describe("events narrow on kind", () => {
  it("tool events carry their call, and each kind its own fields", () => {
    const event = {} as RunEvent;
    expectTypeOf(event.kind).toEqualTypeOf<RunEventKind>();
    expectTypeOf(event.seq).toEqualTypeOf<number>();
    switch (event.kind) {
      case "tool_result":
        expectTypeOf(event.content).toEqualTypeOf<string>();
        expectTypeOf(event.position).toEqualTypeOf<number>();
        break;
      case "tool_indeterminate":
        expectTypeOf(event.mayHaveLanded).toEqualTypeOf<true>();
        break;
      case "run_suspended":
        expectTypeOf(event.pending).toEqualTypeOf<PendingCall[]>();
        break;
      case "text_delta":
        expectTypeOf(event.text).toEqualTypeOf<string>();
        break;
      case "tool_dispatched":
        expectTypeOf(event.waitedSeconds.tool).toEqualTypeOf<number>();
        break;
    }
    // @ts-expect-error: not every event belongs to a call.
    event.callId;
  });
});

describe("api.md: the example of a tool compiles, and its context is required wherever its tools are", () => {
  const search = defineTool({
    name: "search",
    description: "Look a place up.",
    input: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
    idempotent: true,
    requiresApproval: ({ q }, ctx) => q === "" && ctx.tenant === "",
    reconcile: async () => ({ landed: "unknown" }),
    run: async ({ q }, ctx: ToolContext<{ db: string }>) => ctx.context.db + q,
  });

  it("annotating only the body's ctx is enough, also beside functions that leave theirs open", () => {
    const runner = new AgentRunner({ tools: new ToolRegistry([search]) });
    const agent = new Agent({ name: "a", model: "m", freeText: true });
    expectTypeOf(runner.run(agent, "x", { context: { db: "" } })).resolves.toHaveProperty("status");
    // @ts-expect-error the registry's tools expect a context
    runner.run(agent, "x");
    runBatch([], { tools: [search], context: { db: "" } });
    // @ts-expect-error the batch's tools expect a context
    runBatch([], { tools: [search] });
  });
});

describe("api.md: an agent's output is typed by its schema", () => {
  it("text, what a Standard Schema puts out, or what plain JSON Schema says", async () => {
    const runner = new AgentRunner({ tools: [] });
    const text = new Agent({ name: "a", model: "m", freeText: true });
    const zod = new Agent({ name: "b", model: "m", output: z.object({ n: z.string().transform(Number) }) });
    const json = new Agent({
      name: "c",
      model: "m",
      output: { type: "object", properties: { fits: { type: "boolean" } }, required: ["fits"] },
    });
    expectTypeOf(text).toExtend<Agent<string>>();
    expectTypeOf(zod).toExtend<Agent<{ n: number }>>();
    const run = await runner.run(json, "x");
    if (run.status === "completed") expectTypeOf(run.output).toExtend<{ fits: boolean }>();
    // @ts-expect-error exactly one of the two
    new Agent({ name: "d", model: "m", freeText: true, output: z.object({}) });
    // @ts-expect-error exactly one of the two
    new Agent({ name: "e", model: "m" });
  });
});
