import { Agent, AgentRunner, agentTool, Lanes, type Message, ToolRegistry } from "lanekeeper";
import { calls, FakeClock, Gate, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, setUp, tool } from "./setting.ts";

const search = tool("search", () => "found");
const provider = new ScriptedProvider();

/** What each mistake is told: where, what was expected, what came. */
function refused(make: (options: never) => unknown, mistakes: readonly (readonly [unknown, string | RegExp])[]): void {
  for (const [options, message] of mistakes) {
    let threw: unknown;
    try {
      make(options as never);
    } catch (error) {
      threw = error;
    }
    expect(threw, String(message)).toMatchObject({
      code: "CONFIGURATION",
      message: typeof message === "string" ? message : expect.stringMatching(message),
    });
  }
}

const THROWS = {
  get tenant(): never {
    throw new Error("boo");
  },
};
const CIRCULAR: Record<string, unknown> = {};
CIRCULAR.self = CIRCULAR;

describe("Semantics 4.1: what could never work is refused at the door, with where, what was expected and what came", () => {
  it("an agent", () => {
    const base = { name: "planner", model: "m", freeText: true };
    refused(
      (options) => new Agent(options),
      [
        [undefined, "agent: expected an object, got undefined"],
        [[], "agent: expected an object, got an array of 0"],
        [
          { ...base, instruction: "x" },
          /^agent\.instruction: unknown option; expected one of name, instructions, model/,
        ],
        [{ ...base, name: "" }, 'agent.name: expected a text that is not empty, got ""'],
        [{ ...base, name: undefined }, "agent.name: expected a text that is not empty, got undefined"],
        [{ ...base, model: undefined }, 'agent "planner".model: expected a text that is not empty, got undefined'],
        [{ ...base, instructions: 5 }, 'agent "planner".instructions: expected a text or a function, got 5'],
        [
          { name: "planner", model: "m" },
          'agent "planner": expected freeText: true or an output schema, one of the two, got neither',
        ],
        [
          { ...base, freeText: false },
          'agent "planner": expected freeText: true or an output schema, one of the two, got freeText',
        ],
        [
          { ...base, output: {} },
          'agent "planner": expected freeText: true or an output schema, one of the two, got freeText and output',
        ],
        [{ ...base, freeText: undefined, output: 5 }, /^agent "planner"\.output: expected a Standard Schema/],
        [
          { ...base, freeText: undefined, output: { type: "string" } },
          /^agent "planner"\.output\.type: expected "object"/,
        ],
        [{ ...base, settings: [] }, 'agent "planner".settings: expected an object, got an array of 0'],
        [{ ...base, settings: CIRCULAR }, /^agent "planner"\.settings: expected plain JSON; /],
        [
          { ...base, provider: null },
          'agent "planner".provider: expected a ModelProvider: { name, generate, stream? }, got null',
        ],
        [
          { ...base, provider: { name: "x" } },
          /^agent "planner"\.provider: expected a ModelProvider: \{ name, generate, stream\? \}, got an object with "name"$/,
        ],
        [{ ...base, provider: { name: "x", generate() {}, stream: 1 } }, /^agent "planner"\.provider: /],
        [{ ...base, tools: "search" }, 'agent "planner".tools: expected an array of names or tools, got "search"'],
        [
          { ...base, tools: [search, { name: "x" }] },
          'agent "planner".tools[1]: expected the name of a tool, or a tool, got an object with "name"',
        ],
        [{ ...base, tools: ["search", search] }, 'agent "planner".tools[1]: expected each tool once, got "search"'],
        [
          { ...base, concurrency: { maxConcurrentTools: 0 } },
          'agent "planner".concurrency.maxConcurrentTools: expected an integer of at least 1, got 0',
        ],
        [{ ...base, concurrency: { parallel: 2 } }, /^agent "planner"\.concurrency\.parallel: unknown option/],
        [
          { ...base, onToolError: "stop" },
          'agent "planner".onToolError: expected one of "surface_to_model", "fail_run", got "stop"',
        ],
        [{ ...base, maxTurns: 0 }, 'agent "planner".maxTurns: expected an integer of at least 1, got 0'],
        [{ ...base, maxTurns: 1.5 }, 'agent "planner".maxTurns: expected an integer of at least 1, got 1.5'],
        [{ ...base, state: [] }, 'agent "planner".state: expected an object, got an array of 0'],
        [{ ...base, state: { notes: [] } }, 'agent "planner".state.notes: expected an object, got an array of 0'],
        [
          { ...base, state: { notes: { start: 1 } } },
          'agent "planner".state.notes.start: unknown option; expected one of initial, reduce',
        ],
        [
          { ...base, state: { notes: { reduce: "add" } } },
          'agent "planner".state.notes.reduce: expected a function, got "add"',
        ],
        [
          { ...base, state: { notes: { initial: CIRCULAR } } },
          /^agent "planner"\.state\.notes\.initial: expected plain JSON; /,
        ],
      ],
    );
  });

  it("an agent is as it was made: what it was made from may change", () => {
    const settings = { deep: { temperature: 0 } };
    const tools = ["search"];
    const made = agent("planner", { settings, tools });
    settings.deep.temperature = 1;
    tools.push("other");
    expect([made.settings, made.tools]).toEqual([{ deep: { temperature: 0 } }, ["search"]]);
    expect(() => Object.assign(made, { name: "x" })).toThrow(TypeError);
  });

  it("an agent's tool", () => {
    const research = agent("researcher");
    refused(
      (options) => agentTool(research, options),
      [
        [undefined, "agentTool: expected an object, got undefined"],
        [{ description: "x", run: () => {} }, /^agentTool\.run: unknown option; expected one of name, description/],
        [{ description: "x", input: {} }, "agentTool.toInput: expected a function beside `input`, got undefined"],
        [{ description: "x", toInput: "input" }, 'agentTool.toInput: expected a function, got "input"'],
        [{}, 'tool "researcher".description: expected a string, got undefined'],
      ],
    );
    refused(
      (name) => agentTool(agent(name), { description: "x" }),
      [["re searcher", /^tool\.name: expected a name like /]],
    );
    refused(
      (made) => agentTool(made, { description: "x" }),
      [[{ name: "x" }, 'agentTool agent: expected an Agent, got an object with "name"']],
    );
  });

  it("a runner", () => {
    const planner = agent("planner");
    refused(
      (options) => new AgentRunner(options),
      [
        [null, "runner: expected an object, got null"],
        [{ tool: [] }, /^runner\.tool: unknown option; expected one of provider, tools, agents/],
        [
          { provider: () => say("x") },
          "runner.provider: expected a ModelProvider: { name, generate, stream? }, got a function",
        ],
        [{ tools: search }, /^tools: expected an array of tools, got /],
        [{ tools: [{ name: "x" }] }, /^tools\[0\]: expected a tool, got an object with "name"/],
        [{ tools: [search, tool("search")] }, 'tools[1]: expected a name of its own, got "search", which tools[0] has'],
        [{ agents: planner }, "runner.agents: expected an array of agents, got an instance of Agent"],
        [{ agents: [{ name: "planner" }] }, 'runner.agents[0]: expected an Agent, got an object with "name"'],
        [{ agents: [planner, agent("planner")] }, 'runner.agents[1].name: expected a name of its own, got "planner"'],
        [
          { tools: [search], agents: [agent("planner", { tools: ["serch"] })] },
          'agent "planner".tools[0]: expected the name of a tool, got "serch"; the runner has search',
        ],
        [
          { agents: [agent("planner", { tools: ["x"] })] },
          'agent "planner".tools[0]: expected the name of a tool, got "x"; the runner has none',
        ],
        [
          { tools: [search], agents: [agent("planner", { tools: [tool("search")] })] },
          'agent "planner".tools[0]: expected one tool of a name, got a second "search"',
        ],
        [
          { tools: [search], agents: [agent("planner", { concurrency: { perTool: { book: 1 } } })] },
          'agent "planner".concurrency.perTool.book: expected the name of a tool; the tools are search',
        ],
        [
          { tools: [search], concurrency: { perTool: { serch: 1 } } },
          "concurrency.perTool.serch: expected the name of a tool; the tools are search",
        ],
        [
          { concurrency: { perToolSeconds: { search: 1 } } },
          "concurrency.perToolSeconds.search: expected the name of a tool; there are none",
        ],
        [
          { concurrency: { perTenant: "16" } },
          /^concurrency\.perTenant: expected an integer of at least 1, .*got "16"$/,
        ],
        [{ lanes: {} }, "runner.lanes: expected a Lanes, got an empty object"],
        [
          { lanes: new Lanes(), concurrency: {} },
          "runner.concurrency: expected it where the shared lanes are made, got it beside `lanes`",
        ],
        [{ deadlines: { toolSeconds: 1 } }, /^deadlines\.toolSeconds: unknown option/],
        [{ limits: { maxDepth: 0 } }, "limits.maxDepth: expected an integer of at least 1, got 0"],
        [{ limits: { depth: 1 } }, /^limits\.depth: unknown option/],
        [{ approver: {} }, "runner.approver: expected a function, got an empty object"],
        [{ guardrails: {} }, "runner.guardrails: expected an array, got an empty object"],
        [
          { hooks: [{ name: "x" }] },
          'runner.hooks[0]: expected at least one of beforeTool, afterTool, got an object with "name"',
        ],
        [{ onEvent: "log" }, 'runner.onEvent: expected a function, got "log"'],
        [{ onError: 1 }, "runner.onError: expected a function, got 1"],
        [{ clock: Date }, "runner.clock: expected an object with now, monotonic, setTimer, got a function"],
        [
          { clock: { now: Date.now } },
          'runner.clock: expected an object with now, monotonic, setTimer, got an object with "now"',
        ],
        [{ ids: null }, "runner.ids: expected an object with next, got null"],
      ],
    );
    // Shared lanes may bound tools of others, and an agent's own tools may be bounded.
    new AgentRunner({ lanes: new Lanes({ perTool: { others: 1 } }, { clock: new FakeClock() }) });
    new AgentRunner({ agents: [agent("planner", { tools: [search] })], concurrency: { perTool: { search: 1 } } });
    new AgentRunner({ tools: new ToolRegistry([search]) });
  });

  it("a run: the one way to reject, and then nothing has begun", async () => {
    const { runner, heard } = setUp(provider, [search]);
    const planner = agent("planner");
    const user: Message = { role: "user", content: "Go." };
    for (const [args, message] of [
      [[{ name: "planner" }, "Go."], 'agent: expected an Agent, got an object with "name"'],
      [
        [agent("lost", { tools: ["nowhere"] }), "Go."],
        'agent "lost".tools[0]: expected the name of a tool, got "nowhere"; the runner has search',
      ],
      [[planner], "input: expected a text or an array of messages, got undefined"],
      [[planner, {}], "input: expected a text or an array of messages, got an empty object"],
      [[planner, []], "input: expected at least one message, got an array of 0"],
      [[planner, [user, null]], "input[1]: expected a message, got null"],
      [
        [planner, [{ role: "bot", content: "" }]],
        'input[0].role: expected one of system, user, assistant, tool, got "bot"',
      ],
      [[planner, [{ role: "system", content: [] }]], "input[0].content: expected a text, got an array of 0"],
      [
        [planner, [{ role: "user", content: [] }]],
        "input[0].content: expected a text or at least one part, got an array of 0",
      ],
      [[planner, [{ role: "user" }]], "input[0].content: expected a text or at least one part, got undefined"],
      [
        [planner, [{ role: "user", content: [{ type: "text" }] }]],
        'input[0].content[0]: expected a text part or a file part, got an object with "type"',
      ],
      [
        [planner, [{ role: "user", content: [{ type: "file", mediaType: "image/png", data: [1] }] }]],
        'input[0].content[0]: expected a text part or a file part, got an object with "type", "mediaType", "data"',
      ],
      [[planner, [{ role: "assistant", content: null }]], "input[0].content: expected a text, got null"],
      [
        [planner, [{ role: "assistant", content: "", toolCalls: {} }]],
        "input[0].toolCalls: expected an array of calls, got an empty object",
      ],
      [
        [planner, [{ role: "assistant", content: "", toolCalls: ["a"] }]],
        'input[0].toolCalls[0]: expected { id, name, args }, got "a"',
      ],
      [
        [planner, [{ role: "tool", name: "x", content: "", isError: false }]],
        "input[0].callId: expected a text, got undefined",
      ],
      [
        [planner, [{ role: "tool", callId: "a", content: "", isError: false }]],
        "input[0].name: expected a text, got undefined",
      ],
      [
        [planner, [{ role: "tool", callId: "a", name: "x", content: "" }]],
        "input[0].isError: expected true or false, got undefined",
      ],
      [[planner, [{ ...user, extra: () => {} }]], "input: expected messages that can be copied, got one that cannot"],
      [[planner, "Go.", null], "run: expected an object, got null"],
      [[planner, "Go.", { user: "x" }], /^run\.user: unknown option; expected one of tenant, signal, context/],
      [[planner, "Go.", { tenant: "" }], 'run.tenant: expected a text that is not empty, got ""'],
      [[planner, "Go.", { runId: 5 }], "run.runId: expected a text that is not empty, got 5"],
      [[planner, "Go.", { signal: {} }], "run.signal: expected an AbortSignal, got an empty object"],
      [[planner, "Go.", { detached: "yes" }], 'run.detached: expected true or false, got "yes"'],
      [[planner, "Go.", { onEvent: {} }], "run.onEvent: expected a function, got an empty object"],
      [[planner, "Go.", { state: [] }], "run.state: expected an object, got an array of 0"],
      [[planner, "Go.", { state: { a: CIRCULAR } }], /^state\.a: expected plain JSON; /],
      [[planner, "Go.", THROWS], "run: expected a value that can be read, got one that throws"],
      [[planner, "Go.", { state: THROWS }], "run: expected a value that can be read, got one that throws"],
    ] as const) {
      const run = Reflect.apply(runner.run, runner, args) as Promise<unknown>;
      await expect(run, String(message)).rejects.toMatchObject({
        code: "CONFIGURATION",
        message: typeof message === "string" ? message : expect.stringMatching(message),
      });
    }
    await expect(setUp(undefined, []).runner.run(planner, "Go.")).rejects.toMatchObject({
      message: 'agent "planner".provider: expected one there or on the runner, got neither',
    });
    expect(heard).toEqual([]);
    provider.assertFinished();
  });

  it("a run under the id of one that is at work, or waits: each is to have its own", async () => {
    const gate = new Gate();
    const provider = new ScriptedProvider(calls({ hold: {} }), say("done"), say("again"));
    const { runner, clock } = setUp(provider, [tool("hold", () => gate.wait("hold"))]);
    const running = runner.run(agent("planner"), "Go.", { runId: "mine" });
    await clock.settle();
    await expect(runner.run(agent("planner"), "Go.", { runId: "mine" })).rejects.toMatchObject({
      code: "CONFIGURATION",
      message: 'run.runId: expected an id of its own, or none, got "mine"',
    });
    gate.leaveOpen();
    expect((await clock.promptly(running)).status).toBe("completed");
    expect((await clock.promptly(runner.run(agent("planner"), "Go.", { runId: "mine" }))).status).toBe("completed");
  });

  it("a store for the lanes that is none, or stands beside shared lanes", () => {
    const store = { tryAcquire: () => undefined, onFreed: () => () => {} };
    refused(
      (options) => new AgentRunner(options),
      [
        [{ laneStore: {} }, /^runner\.laneStore.*tryAcquire/],
        [
          { laneStore: store, lanes: new Lanes() },
          "runner.laneStore: expected it where the shared lanes are made, got it beside `lanes`",
        ],
      ],
    );
  });
});
