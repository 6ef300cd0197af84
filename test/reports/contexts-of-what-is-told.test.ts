import { AsyncLocalStorage } from "node:async_hooks";
import type { RunEvent, ToolContext } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, untilStopped } from "../runner/setting.ts";
import { report } from "./report-world.ts";

describe("Semantics 4.11: what is told of a run is told in the run's own async context", () => {
  report(
    "C34: what a body enters with is not seen by the listener that is told of its start",
    { starts: { work: 1 } },
    async (world) => {
      const storage = new AsyncLocalStorage<string>();
      const seen: string[] = [];
      const onEvent = ({ kind }: RunEvent) => void seen.push(`${kind} ${storage.getStore()}`);
      const work = world.tool("work", () => storage.enterWith("body"));
      const runner = world.runner(new ScriptedProvider(calls({ id: "a", name: "work" }), say("ok")), [work], {
        onEvent,
      });
      await world.finish(storage.run("run", () => world.run(runner)));
      expect(seen.filter((one) => !one.endsWith(" run"))).toEqual([]);
    },
  );

  report(
    "C34: stopped from another run's context, a run's bodies and listeners hear of it in their own",
    { starts: { work: 1 } },
    async (world) => {
      const storage = new AsyncLocalStorage<string>();
      const seen: string[] = [];
      const onEvent = ({ kind }: RunEvent) => void seen.push(`${kind} ${storage.getStore()}`);
      const work = world.tool("work", (args, ctx: ToolContext) => {
        ctx.signal.addEventListener("abort", () => seen.push(`abort ${storage.getStore()}`));
        return untilStopped(args, ctx);
      });
      const controller = new AbortController();
      const runner = world.runner(new ScriptedProvider(calls({ id: "a", name: "work" })), [work], { onEvent });
      const { signal } = controller;
      const running = storage.run("run", () => world.run(runner, agent("planner"), "Go.", { signal }));
      await world.clock.settle();
      storage.run("other", () => controller.abort());
      await world.finish(running);
      expect(seen.filter((one) => !one.endsWith(" run"))).toEqual([]);
    },
  );

  report("C34: what a provider enters is seen by nobody else", { starts: { work: 1 } }, async (world) => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const see = (): void => void seen.push(storage.getStore());
    const script = new ScriptedProvider(calls({ id: "a", name: "work" }), say("ok"));
    const provider = {
      name: "enters",
      generate: (...asked: Parameters<typeof script.generate>) => {
        storage.enterWith("provider");
        return script.generate(...asked);
      },
    };
    const runner = world.runner(provider, [world.tool("work", see)], { hooks: [{ name: "h", beforeTool: see }] });
    const running = storage.run("run", () => {
      const started = world.run(runner);
      see();
      return started;
    });
    await world.finish(running);
    expect(seen).toEqual(["run", "run", "run"]);
  });
});
