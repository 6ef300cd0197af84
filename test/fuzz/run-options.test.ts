import {
  Agent,
  AgentRunner,
  agentTool,
  ConfigurationError,
  defineTool,
  LanekeeperError,
  Lanes,
  MemoryJournal,
  type Run,
  runBatch,
  type Tool,
  ToolRegistry,
} from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, tool } from "../runner/setting.ts";
import { type Door, fuzzedDoors, type World } from "./doors.ts";
import { isMistakeOrTheirs, isResult, isTold, isWhole } from "./promises.ts";

const MAX_RESULT_BYTES = 262_144;

const search = (): Tool => tool("search", () => "found", { idempotent: true });
const script = (...names: string[]): ScriptedProvider =>
  new ScriptedProvider(calls(...names.map((name) => ({ [name]: { input: "x" } }))), say('{"done":true}'), say("again"));

/** Runs an agent on a runner to its end. */
async function ends(world: World, running: Promise<Run<unknown>>, how?: { isLoaded: boolean }): Promise<void> {
  isWhole(await world.settled(running), MAX_RESULT_BYTES, how);
}

function runnerOf(world: World, options: object = {}): AgentRunner {
  return new AgentRunner({ provider: script("search"), tools: [search()], clock: world.clock, ...options });
}

const concurrency = () => ({
  maxConcurrentTools: 4,
  perTool: { search: 2 },
  perTenant: { inFlight: 3, starts: { count: 5, perSeconds: 1 } },
  perResource: { maps: 2 },
  perToolSeconds: { search: 5 },
  maxWaitSeconds: 10,
  maxWaiting: 100,
  abandonSeconds: 1,
});

const gates = () => ({
  approver: () => ({ approve: true as const }),
  guardrails: [{ name: "g", before: () => undefined, after: () => undefined }],
  hooks: [{ name: "h", beforeTool: () => undefined, afterTool: () => undefined }],
  limits: { maxCallsPerTurn: 3, maxDepth: 2, maxResultBytes: 1_000 },
  onEvent: () => {},
  onError: () => {},
});

/** A run that waits for two decisions. */
async function waiting(world: World) {
  const asks = tool("asks", () => "done", { requiresApproval: true });
  const runner = new AgentRunner({
    provider: script("asks", "asks"),
    tools: [asks],
    agents: [agent("planner")],
    clock: world.clock,
  });
  const run = await world.settled(runner.run(agent("planner"), "Go.", { runId: "mine" }));
  expect(run.status).toBe("suspended");
  return runner;
}

const doors: Record<string, Door> = {
  defineTool: {
    looksOnce: true,
    right: () => [
      {
        name: "search",
        description: "Looks.",
        input: { type: "object", properties: { input: { type: "string", minLength: 1 } }, required: ["input"] },
        inputSchema: { type: "object", properties: { input: { type: "string" } } },
        idempotent: true,
        parallelSafe: true,
        resource: "maps",
        requiresApproval: false,
        retry: { attempts: 2, backoffSeconds: 0.1, maxBackoffSeconds: 1, when: () => true },
        reconcile: () => ({ landed: false }),
        abandonSeconds: 1,
        run: () => "found",
      },
    ],
    go: async ([options]: [never], world) => {
      const made = defineTool(options);
      const runner = runnerOf(world, { tools: [made], provider: script(made.name) });
      await ends(world, runner.run(agent("planner"), "Go.", { signal: world.stop.signal }));
    },
  },
  Agent: {
    isRefusal: isMistakeOrTheirs,
    right: () => [
      {
        name: "planner",
        instructions: "Plan.",
        model: "m",
        settings: { temperature: 0, deep: { list: [1] } },
        output: { type: "object", properties: { done: { type: "boolean" } } },
        tools: ["search"],
        concurrency: concurrency(),
        onToolError: "surface_to_model",
        maxTurns: 3,
        state: { notes: { initial: [], reduce: (_: unknown, next: unknown) => next } },
      },
    ],
    go: async ([options]: [never], world) => {
      const made = new Agent(options);
      await ends(world, runnerOf(world).run(made, "Go.", { signal: world.stop.signal }));
    },
  },
  agentTool: {
    without: /without end/,
    isRefusal: isMistakeOrTheirs,
    right: () => [
      agent("below"),
      {
        name: "below",
        description: "Asks below.",
        input: { type: "object", properties: { input: { type: "string" } } },
        inputSchema: { type: "object" },
        toInput: () => "Go below.",
        idempotent: true,
        parallelSafe: true,
        resource: "maps",
        abandonSeconds: 1,
      },
    ],
    go: async ([below, options]: [never, never], world) => {
      const made = agentTool(below, options) as Tool;
      const provider = ScriptedProvider.byAgent({
        planner: [calls({ [made.name]: { input: "x" } }), say("Done.")],
        below: [say("Below.")],
      });
      const runner = runnerOf(world, { tools: [made], provider });
      await ends(world, runner.run(agent("planner"), "Go.", { signal: world.stop.signal }));
    },
  },
  AgentRunner: {
    sealed: ["clock", "journal", "ids"],
    right: ({ clock }) => [
      {
        ...gates(),
        provider: script("search"),
        tools: [search()],
        agents: [agent("other")],
        concurrency: concurrency(),
        deadlines: { runSeconds: 100, modelCallSeconds: 10, toolCallSeconds: 20 },
        journal: new MemoryJournal(),
        dispatch: "eager",
        monitor: null,
        clock,
        ids: { next: (kind: string) => kind },
        random: Math.random,
      },
    ],
    go: async ([options]: [never], world) => {
      const runner = new AgentRunner(options);
      runner.lanes();
      await ends(world, runner.run(agent("planner"), "Go.", { signal: world.stop.signal }));
    },
  },
  "parts of an AgentRunner": {
    right: ({ clock }) => [{ clock, journal: new MemoryJournal(), ids: { next: () => "id" }, lanes: new Lanes() }],
    go: ([options]: [never]) => void new AgentRunner(options),
  },
  run: {
    right: ({ stop }) => [
      agent("planner"),
      [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "Go." },
            { type: "file", mediaType: "x/y", data: "AA==" },
          ],
        },
        { role: "assistant", content: "", toolCalls: [{ id: "a", name: "search", args: { input: "x" } }], vendor: 1 },
        { role: "tool", callId: "a", name: "search", content: "found", isError: false },
        { role: "user", content: "Again." },
      ],
      {
        tenant: "acme",
        signal: stop.signal,
        context: { any: "thing" },
        state: { notes: [1, { deep: true }] },
        runId: "mine",
        detached: false,
        onEvent: () => {},
      },
    ],
    go: async (args: [never, never, never], world) => {
      const runner = runnerOf(world);
      const running = runner.run(...args);
      expect(running).toBeInstanceOf(Promise);
      await ends(world, running, { isLoaded: true });
    },
  },
  stream: {
    right: ({ stop }) => [
      agent("planner"),
      "Go.",
      { tenant: "acme", signal: stop.signal, state: { notes: [1] }, runId: "mine", detached: false, onEvent: () => {} },
    ],
    go: async (args: [never, never, never], world) => {
      const stream = runnerOf(world).stream(...args);
      const kinds: string[] = [];
      await world.settled(
        (async () => {
          for await (const { kind } of stream) kinds.push(kind);
        })(),
      );
      await ends(world, stream.run);
      expect(kinds.at(-1)).toMatch(/^run_/);
    },
  },
  resume: {
    right: ({ stop }) => [
      "mine",
      {
        decisions: {
          "0/1.0": { approve: true, args: { input: "y" } },
          "0/1.1": { result: { found: [1] } },
        },
        signal: stop.signal,
        context: {},
        onEvent: () => {},
      },
    ],
    go: async ([runId, options]: [never, never], world) => {
      const runner = await waiting(world);
      await ends(world, runner.resume(runId, options));
    },
  },
  configure: {
    right: () => [concurrency()],
    go: async ([changes]: [never], world) => {
      const runner = runnerOf(world);
      runner.configure(changes);
      runner.lanes();
      await ends(world, runner.run(agent("planner"), "Go.", { signal: world.stop.signal }));
    },
  },
  close: {
    isRefusal: isMistakeOrTheirs,
    right: () => [{ drainSeconds: 1 }],
    go: async ([options]: [never], world) => {
      await world.settled(runnerOf(world).close(options));
    },
  },
  pending: {
    isRefusal: isMistakeOrTheirs,
    right: () => [{ tenant: "default" }],
    go: async ([filter]: [never], world) => {
      const runner = await waiting(world);
      for await (const call of runner.pending(filter)) expect(call.tool).toBe("asks");
    },
  },
  runBatch: {
    without: /2 \*\* 30/,
    isRefusal: isMistakeOrTheirs,
    sealed: ["clock", "ids"],
    right: ({ clock, stop }) => [
      [
        { id: "a", name: "search", args: { input: "x" } },
        { id: "b", name: "search", args: '{"input":"y"}' },
      ],
      {
        ...gates(),
        tools: [search()],
        tenant: "acme",
        concurrency: { maxConcurrentTools: 1, perToolSeconds: { search: 5 } },
        deadlines: { runSeconds: 100, toolCallSeconds: 20 },
        onToolError: "surface_to_model",
        signal: stop.signal,
        context: {},
        runId: "mine",
        clock,
        ids: { next: () => "id" },
      },
    ],
    go: async ([asked, options]: [never, never], world) => {
      const results = await world.settled(runBatch(asked, options));
      for (const result of results) isResult(result, MAX_RESULT_BYTES);
      expect(new Set(results.map(({ callId }) => callId)).size).toBe(results.length);
    },
  },
  ToolRegistry: {
    right: () => [[search(), tool("write")]],
    go: ([tools]: [never]) => new ToolRegistry(tools).schemas(),
  },
  "the cause of an error": {
    right: () => [{ any: "thing" }],
    go: ([cause]: [unknown]) => isTold(new ConfigurationError("what went wrong", { cause })),
  },
  "is it ours": {
    right: () => [new ConfigurationError("x")],
    go: ([value]: [unknown]) => LanekeeperError.is(value),
  },
};

describe("Semantics 2.4, 4.1, 7.4: a mistake of the options is told as one, at the door, and nothing else is thrown", () => {
  fuzzedDoors({ name: "run options", share: 0.2, seed: 20_250_104, atLeast: 2 }, doors);
});
