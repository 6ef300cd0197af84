import { Agent, AgentRunner, type ModelCall, runBatch, type ToolContext } from "lanekeeper";
import { calls, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { tool } from "./batch-world.ts";

describe("the signal that bodies and providers are given", () => {
  it("is one signal, however it is read: taken apart, copied, inherited, through a proxy", async () => {
    let seen: readonly AbortSignal[] = [];
    const look = tool("look", {
      run: (_: unknown, context: ToolContext) => {
        const { signal } = context;
        const copy = { ...context };
        const proxy = new Proxy(context, {});
        seen = [signal, context.signal, copy.signal, Object.create(context).signal, proxy.signal];
        return "ok";
      },
    });
    await runBatch([{ id: "a", name: "look", args: {} }], { tools: [look] });
    expect(seen[0]).toBeInstanceOf(AbortSignal);
    expect(new Set(seen).size).toBe(1);
  });

  it("can be replaced in the body's own context, and nowhere else", async () => {
    const seen: (AbortSignal | undefined)[] = [];
    const mine = new AbortController().signal;
    const write = tool("write", {
      run: (_: unknown, context: ToolContext) => {
        seen.push(context.signal);
        (context as { signal: AbortSignal }).signal = mine;
        seen.push(context.signal);
        return "ok";
      },
    });
    const asked = ["a", "b"].map((id) => ({ id, name: "write", args: {} }));
    await runBatch(asked, { tools: [write] });
    expect(seen.map((signal) => signal === mine)).toEqual([false, true, false, true]);
  });

  it("costs no shape of its own: all contexts, and all requests of providers, share one pair of functions", async () => {
    const contexts: ToolContext[] = [];
    const requests: ModelCall[] = [];
    const keep = tool("keep", {
      run: (_: unknown, context: ToolContext) => {
        contexts.push(context);
        return "ok";
      },
    });
    const runner = new AgentRunner({
      tools: [keep],
      provider: {
        name: "scripted",
        generate: async ({ messages }, call) => {
          requests.push(call);
          return messages.length === 1 ? calls({ keep: {} }, { keep: {} }) : say("done");
        },
      },
    });
    await runner.run(new Agent({ name: "agent", model: "m", freeText: true }), "Go.");
    const getters = [...contexts, ...requests].map((given) => Object.getOwnPropertyDescriptor(given, "signal")?.get);
    expect(getters).toHaveLength(4);
    expect(getters[0]).toBeTypeOf("function");
    expect(new Set(getters).size).toBe(1);
  });
});
