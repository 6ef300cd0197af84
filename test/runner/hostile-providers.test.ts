import { LanekeeperError, type ModelProvider, type ModelResponse, ProviderError } from "lanekeeper";
import { calls, leakCheck, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, kinds, outcomes, setUp, tool } from "./setting.ts";

const search = tool("search", () => "found");

/** How a run ends whose model answers this, or does this; asked without and with streaming. */
async function ends(generate: ModelProvider["generate"], then?: ModelResponse) {
  let asked = 0;
  const provider: ModelProvider = {
    name: "hostile",
    generate: (request, call) => (asked++ > 0 && then !== undefined ? Promise.resolve(then) : generate(request, call)),
  };
  const { runner, clock } = setUp(provider, [search]);
  const leaks = leakCheck(runner, { clock });
  const run = await clock.promptly(runner.run(agent("planner"), "Go."));
  expect(faults(run)).toEqual([]);
  expect(kinds(run.events).at(-1)).toBe(`run_${run.status}`);
  await leaks.done();
  return run;
}

const answers = (response: unknown) => ends(() => Promise.resolve(response as ModelResponse));

describe("Semantics 2.4, 2.8: whatever a provider does, the run resolves, and names what was wrong", () => {
  it("what is no response fails the run, naming the place", async () => {
    for (const [response, message] of [
      [undefined, "hostile: expected a response, got undefined"],
      ["text", 'hostile: expected a response, got "text"'],
      [{ ...say("x"), content: null }, "hostile: expected response.content: a text, got null"],
      [
        { ...say("x"), finishReason: "done" },
        /^hostile: expected response\.finishReason: one of stop, .*, got "done"$/,
      ],
      [{ ...say("x"), toolCalls: undefined }, "hostile: expected response.toolCalls: an array, got undefined"],
      [{ ...say("x"), toolCalls: [null] }, "hostile: expected response.toolCalls[0]: { id, name, args }, got null"],
      [{ ...say("x"), vendor: () => {} }, /^hostile: expected a response that can be read: /],
    ] as const) {
      const run = await answers(response);
      expect(errorOf(run)).toBeInstanceOf(ProviderError);
      expect(errorOf(run).message).toMatch(message);
      expect(run.messages).toHaveLength(1);
    }
  });

  it("a response that throws when it is looked at fails the run", async () => {
    const thrower = (field: keyof ModelResponse) =>
      Object.defineProperty({ ...say("x") }, field, {
        get() {
          throw new Error(`no ${field}`);
        },
      });
    for (const field of ["content", "toolCalls", "finishReason", "usage", "vendor"] as const) {
      expect(errorOf(await answers(thrower(field))).message).toBe(
        `hostile: expected a response that can be read: no ${field}`,
      );
    }
    const { proxy, revoke } = Proxy.revocable(say("x"), {});
    revoke();
    expect(errorOf(await ends(async () => ({ ...proxy }))).code).toBe("PROVIDER");
    const gone = Proxy.revocable([], {});
    gone.revoke();
    expect(errorOf(await answers({ ...say("x"), toolCalls: gone.proxy })).code).toBe("PROVIDER");
  });

  it("a provider that throws at once, rejects, or answers no promise", async () => {
    const thrown = new TypeError("at once");
    const run = await ends(() => {
      throw thrown;
    });
    expect(errorOf(run)).toMatchObject({ code: "PROVIDER", message: "hostile: at once", cause: thrown });
    for (const reason of [
      undefined,
      null,
      "text",
      Symbol("s"),
      Object.freeze({ message: "frozen" }),
      new Proxy(
        {},
        {
          get: () => {
            throw new Error("x");
          },
        },
      ),
    ]) {
      expect(errorOf(await ends(() => Promise.reject(reason)))).toMatchObject({ code: "PROVIDER" });
    }
    expect(await ends(() => say("plain") as never)).toMatchObject({ status: "completed", output: "plain" });
    const thenable = {
      // biome-ignore lint/suspicious/noThenProperty: a provider may answer a thenable that settles twice.
      then: (resolve: (value: unknown) => void) => {
        resolve(say("then"));
        resolve(say("again"));
      },
    };
    expect(await ends(() => thenable as never)).toMatchObject({ status: "completed", output: "then" });
  });

  it("an error of ours is the run's error as it is; one that cannot be told is wrapped", async () => {
    const own = new ProviderError("slow down", { status: 429, retryAfterSeconds: 3 });
    const run = await ends(() => Promise.reject(own));
    expect(errorOf(run)).toBe(own);
    expect(run.events.at(-1)).toMatchObject({ error: { status: 429, retryAfterSeconds: 3 } });
    class Untold extends LanekeeperError {
      override toJSON(): never {
        throw new Error("cannot be told");
      }
    }
    const untold = new Untold("hidden");
    expect(errorOf(await ends(() => Promise.reject(untold)))).toMatchObject({ code: "PROVIDER", cause: untold });
  });

  it("a provider's own AbortError is its own failure, not a cancel", async () => {
    const run = await ends(() => Promise.reject(new DOMException("gone", "AbortError")));
    expect(run.status).toBe("failed");
    expect(errorOf(run).message).toBe("hostile: gone");
  });

  it("calls that are hostile are failures of their own, under ids that a vendor accepts", async () => {
    const args = {
      get q() {
        throw new Error("no q");
      },
    };
    const asked = [
      { id: "a", name: "search", args: {} },
      { id: "a", name: "search", args },
      { name: "constructor", args: [] },
      { id: 5, name: { toString: () => "search" }, args: "null" },
      { id: "b", name: "__proto__", args: 1n },
    ];
    const run = await ends(async () => ({ ...calls(), toolCalls: asked as never }), say("done"));
    expect(run.status).toBe("completed");
    expect(run.results.map(({ callId, name, status }) => [callId, name, status])).toEqual([
      ["a", "search", "ok"],
      ["a_2", "search", "error"],
      ["call_1_2", "constructor", "error"],
      ["call_1_3", "unnamed", "error"],
      ["b", "__proto__", "error"],
    ]);
  });

  it("a list of calls that is not what it seems is read as a list", async () => {
    class Odd extends Array {
      override map(): never {
        throw new Error("own map");
      }
    }
    const toolCalls = Odd.from([{ id: "a", name: "search", args: {} }]);
    const run = await ends(async () => ({ ...calls(), toolCalls: toolCalls as never }), say("done"));
    expect(outcomes(run)).toEqual(["a ok: found"]);
  });

  it("text with half a character is put right: it goes back to the model whole", async () => {
    const half = "Kyoto \ud83d";
    const run = await ends(async () => ({ ...calls({ search: {} }), content: half }), say(half));
    expect(run).toMatchObject({ status: "completed", output: "Kyoto \ufffd" });
  });

  it("tokens that are no numbers count as none", async () => {
    for (const usage of [undefined, null, "x", { inputTokens: "5", outputTokens: Number.NaN, totalTokens: -1 }]) {
      expect((await answers({ ...say("x"), usage })).usage).toEqual({
        inputTokens: 0,
        outputTokens: 0,
        totalTokens: 0,
      });
    }
    const run = await answers({ ...say("x"), usage: { inputTokens: 2, outputTokens: 3 } });
    expect(run.usage).toEqual({ inputTokens: 2, outputTokens: 3, totalTokens: 5 });
  });

  it("a model that never answers, deaf to its signal, does not hold up the run's end", async () => {
    const signals: AbortSignal[] = [];
    const provider: ModelProvider = {
      name: "deaf",
      generate: (_, { signal }) => {
        signals.push(signal);
        return new Promise(() => {});
      },
    };
    const { runner, clock } = setUp(provider, []);
    const controller = new AbortController();
    const leaks = leakCheck(runner, { clock, signal: controller.signal });
    const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
    await clock.settle();
    controller.abort();
    expect((await clock.promptly(running)).status).toBe("cancelled");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    await leaks.done();
  });

  it("one that answers or rejects after the end changes nothing and is not unheard", async () => {
    for (const late of ["answers", "rejects"]) {
      let settle: () => void = () => {};
      const provider: ModelProvider = {
        name: "late",
        generate: () =>
          new Promise((resolve, reject) => {
            settle = () => (late === "answers" ? resolve(say("late")) : reject(new Error("late")));
          }),
      };
      const { runner, clock, heard } = setUp(provider, []);
      const controller = new AbortController();
      const leaks = leakCheck(runner, { clock });
      const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
      await clock.settle();
      controller.abort();
      await running;
      const told = heard.length;
      settle();
      await leaks.done();
      expect(heard).toHaveLength(told);
    }
  });
});
