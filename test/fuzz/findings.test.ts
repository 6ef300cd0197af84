import {
  Agent,
  AgentRunner,
  agentTool,
  ConfigurationError,
  DeadlineConfig,
  LanekeeperError,
  type ModelProvider,
  runBatch,
} from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, setUp, tool } from "../runner/setting.ts";

const boom = (): never => {
  throw new Error("boom");
};
const unreadable = () => new Proxy({}, { get: boom, ownKeys: boom });
/** A list whose first place is a hole. */
const holed = (value: unknown): unknown[] => {
  const list = new Array<unknown>(2);
  list[1] = value;
  return list;
};
const heard: unknown[] = [];
process.on("unhandledRejection", (reason) => heard.push(reason));
const rejects = async (): Promise<never> => {
  throw new Error("async");
};
const settleHost = async () => {
  for (let i = 0; i < 5; i++) await new Promise((r) => setImmediate(r));
};

describe("Semantics 2.8: an async function where one answers at once leaves an unhandled rejection", () => {
  it("provider.stream is an async function that rejects", async () => {
    heard.length = 0;
    const provider: ModelProvider = { name: "p", generate: async () => say("x"), stream: rejects as never };
    const { runner, clock } = setUp(provider, []);
    const run = await clock.promptly(runner.stream(agent("planner"), "Go.").run);
    expect(run.status).toBe("failed");
    await settleHost();
    expect(heard).toEqual([]);
    expect(errorOf(run).message).toBe("p: async");
  });
  const world = async (declared: object, options: object = {}, body: unknown = () => "ok") => {
    heard.length = 0;
    const provider = new ScriptedProvider(calls({ t: {} }), say("done"));
    const { runner, clock } = setUp(provider, [tool("t", body as never, declared)], {});
    const run = await clock.promptly(runner.run(agent("planner", options), "Go."));
    await clock.advance(100);
    await settleHost();
    expect(faults(run)).toEqual([]);
    return heard.length;
  };
  it("parallelSafe", async () => expect(await world({ parallelSafe: rejects })).toBe(0));
  it("retry.when", async () =>
    expect(await world({ idempotent: true, retry: { attempts: 2, backoffSeconds: 0, when: rejects } }, {}, boom)).toBe(
      0,
    ));
  it("reduce", async () =>
    expect(
      await world(
        {},
        { state: { a: { reduce: rejects } } },
        (_: unknown, ctx: { state: { set(k: string, v: unknown): void } }) => {
          ctx.state.set("a", 1);
          return "ok";
        },
      ),
    ).toBe(0));
  it("toInput of an agentTool", async () => {
    heard.length = 0;
    const below = agentTool(agent("below"), { description: "x", input: { type: "object" }, toInput: rejects as never });
    const { runner, clock } = setUp(new ScriptedProvider(calls({ below: {} }), say("done")), [below]);
    await clock.promptly(runner.run(agent("planner"), "Go."));
    await settleHost();
    expect(heard).toEqual([]);
  });
  it("a thenable whose then is async and throws, from a provider, an approver, a hook", async () => {
    heard.length = 0;
    const thenable = {
      // biome-ignore lint/suspicious/noThenProperty: a thenable is what is being made.
      then: async () => {
        throw new Error("async then");
      },
    };
    const { runner, clock } = setUp(new ScriptedProvider(calls({ t: {} }), say("done")), [tool("t", () => "ok", {})], {
      hooks: [{ name: "h", beforeTool: () => thenable as never }],
      deadlines: { runSeconds: 1 },
    });
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(2);
    await running;
    await settleHost();
    expect(heard).toEqual([]);
  });
});

describe("Semantics 2.7: errors that cannot be told", () => {
  it("an error marked as ours whose toJSON is no JSON becomes run.error", async () => {
    class Odd extends LanekeeperError {
      override toJSON(): never {
        return { message: "m", big: 1n } as never;
      }
    }
    const provider: ModelProvider = { name: "p", generate: () => Promise.reject(new Odd("x")) };
    const { runner, clock } = setUp(provider, []);
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(() => JSON.stringify(errorOf(run))).not.toThrow();
  });
});

describe("Semantics 2.4, 2.5: a vendor takes the transcript", () => {
  it("an id with half a character", async () => {
    const provider = new ScriptedProvider(calls({ id: "\ud800", name: "t", args: {} }), say("done"));
    const { runner, clock } = setUp(provider, [tool("t", () => "ok")]);
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(faults(run)).toEqual([]);
  });
});

describe("Semantics 4.1: a mistake of the options is a ConfigurationError", () => {
  const search = tool("search", () => "found");
  const refused = (make: () => unknown) => expect(make).toThrow(ConfigurationError);
  it("agentTool, unreadable", () => refused(() => agentTool(agent("a"), unreadable() as never)));
  it("Agent.tools, unreadable", () => refused(() => agent("a", { tools: new Proxy([1], { get: boom }) as never })));
  it("runBatch, unreadable", () =>
    expect(
      runBatch(
        [
          {
            id: "a",
            name: "search",
            get args() {
              return boom();
            },
          } as never,
        ],
        unreadable() as never,
      ),
    ).rejects.toThrow(ConfigurationError));
  it("runBatch, a call that throws is read", () =>
    expect(runBatch(new Proxy([1], { get: boom }) as never, { tools: [search] })).rejects.toThrow(ConfigurationError));
  it("DeadlineConfig, unreadable", () => refused(() => new DeadlineConfig(unreadable() as never)));
  it("close, unreadable", () =>
    expect(new AgentRunner({}).close(unreadable() as never)).rejects.toThrow(ConfigurationError));
  it("pending, unreadable", () => refused(() => new AgentRunner({}).pending(unreadable() as never)));
  it("a hole in agents", () => refused(() => new AgentRunner({ agents: holed(agent("x")) as never })));
  it("a hole in guardrails, hooks", () =>
    refused(() => new AgentRunner({ hooks: holed({ name: "h", beforeTool() {} }) as never })));
  it("a hole in an agent's tools", () =>
    refused(() => new Agent({ name: "x", model: "m", freeText: true, tools: holed("search") as never })));
  it("a hole in the parts of a message, in its calls", async () => {
    const { runner } = setUp(new ScriptedProvider(say("x")), []);
    await expect(
      runner.run(agent("a"), [{ role: "user", content: holed({ type: "text", text: "Go." }) as never }]),
    ).rejects.toThrow(ConfigurationError);
  });
  it("options that are looked at twice: a signal that is another at the second look", async () => {
    const { runner, clock } = setUp(new ScriptedProvider(say("x")), []);
    let looks = 0;
    const options = {
      get signal() {
        return looks++ === 0 ? new AbortController().signal : ({} as never);
      },
    };
    const run = (await clock.promptly(runner.run(agent("a"), "Go.", options).catch((e: unknown) => e))) as {
      status?: string;
    };
    expect(run instanceof ConfigurationError || run.status === "completed").toBe(true);
  });
});

it("2.4, 2.13: a loaded message with a member that is no JSON goes to the vendor as it is", async () => {
  const provider = new ScriptedProvider(say("x"));
  const { runner, clock } = setUp(provider, []);
  const input = [{ role: "user", content: "Go.", extra: new Set([1]) }] as never;
  const run = await clock.promptly(runner.run(agent("a"), input).catch((error: unknown) => error));
  expect(run instanceof ConfigurationError || faults(run as never).length === 0).toBe(true);
});
