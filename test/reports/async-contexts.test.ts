import { AsyncLocalStorage } from "node:async_hooks";
import type { ModelCall, ModelProvider, RunEvent, ToolContext } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

const RUNS = 50;
const TENANTS = 5;

/** Where code of a run reads the store that its caller set; `wrong` has those that read another's. */
class Readings {
  readonly #storage = new AsyncLocalStorage<string>();
  readonly #places = new Map<string, number>();
  readonly wrong = new Set<string>();

  within<T>(runId: string, code: () => T): T {
    return this.#storage.run(runId, code);
  }

  read(place: string, { runId }: { runId: string }): void {
    this.#places.set(place, (this.#places.get(place) ?? 0) + 1);
    const found = this.#storage.getStore();
    if (found !== runId) this.wrong.add(`${place} of ${runId} reads ${found}`);
  }

  get places(): Record<string, number> {
    return Object.fromEntries(this.#places);
  }
}

/** Three calls a run: one that works, one that outlives its ceiling and one that asks below, all behind every gate. */
function everyPlace(world: ReportWorld) {
  const readings = new Readings();
  const read = readings.read.bind(readings);
  const wait = ({ clock }: Pick<ToolContext, "clock">, seconds: number) =>
    new Promise<void>((resolve) => void clock.setTimer(seconds * 1_000, resolve));
  const pay = world.tool(
    "pay",
    async (_, ctx) => {
      read("body", ctx);
      await wait(ctx, 1);
      read("body after await", ctx);
    },
    { requiresApproval: true },
  );
  const slow = world.tool("slow", async (_, ctx) => {
    read("body", ctx);
    ctx.signal.addEventListener("abort", () => read("abort by a ceiling", ctx));
    await wait(ctx, 3);
    read("late end", ctx);
  });
  const below = agent("below", { tools: ["pay"] });
  const sub = world.tool("sub", (_, ctx) => ctx.run(below, "Go.").then(() => read("body after a run below", ctx)), {
    isCaller: true,
  });
  const provider: ModelProvider = {
    name: "own",
    generate: async ({ messages }, { run: { id: runId, agent: name } }: ModelCall) => {
      read("model", { runId });
      await Promise.resolve();
      read("model after await", { runId });
      if (messages.length > 1) return say("ok");
      return name === "below" ? calls({ pay: {} }) : calls({ pay: {} }, { slow: {} }, { sub: {} });
    },
  };
  const runner = world.runner(provider, [pay, slow, sub], {
    concurrency: { perTenant: 2, perTool: { pay: 7 }, perToolSeconds: { slow: 2 }, abandonSeconds: 60 },
    approver: async (request) => {
      read("approver", request);
      return { approve: true };
    },
    hooks: [
      {
        name: "h",
        beforeTool: (_, ctx) => read("hook", ctx),
        afterTool: async (_c, _r, ctx) => read("hook after", ctx),
      },
    ],
    guardrails: [
      {
        name: "g",
        before: async (_, ctx) => read("guardrail", ctx),
        after: (_c, _r, ctx) => read("guardrail after", ctx),
      },
    ],
    onEvent: (event) => read("runner's listener", event),
  });
  return { readings, read, runner };
}

describe("Semantics 4.11: code of a run sees the async context of its own run, whoever let it in", () => {
  report(
    `C34: ${RUNS} runs of ${TENANTS} tenants, two places each: every reading of the store is of its own run`,
    { starts: { pay: RUNS * 2, slow: RUNS, sub: RUNS } },
    async (world) => {
      const { readings, read, runner } = everyPlace(world);
      const running = Array.from({ length: RUNS }, (_, no) => {
        const runId = `run ${no}`;
        const options = {
          runId,
          tenant: `t${no % TENANTS}`,
          onEvent: (event: RunEvent) => read("run's listener", event),
        };
        return readings.within(runId, () => world.run(runner, agent("planner"), "Go.", options));
      });
      await world.clock.advance(200);
      const runs = await Promise.all(running.map((run) => world.finish(run)));
      expect(runs.map(({ status }) => status)).toEqual(runs.map(() => "completed"));
      expect([...readings.wrong]).toEqual([]);
      expect(readings.places).toMatchObject({
        body: 3 * RUNS,
        "body after await": 2 * RUNS,
        "abort by a ceiling": RUNS,
        "late end": RUNS,
        "body after a run below": RUNS,
        model: 4 * RUNS,
        approver: 2 * RUNS,
        hook: 4 * RUNS,
        "hook after": 3 * RUNS,
        "guardrail after": 3 * RUNS,
        "run's listener": world.heard.length,
      });
    },
  );

  report(
    "C34: what a body enters with is seen by no sibling, no later turn and no model, nor when its result is told",
    { starts: { work: 4 } },
    async (world) => {
      const storage = new AsyncLocalStorage<string>();
      const seen: string[] = [];
      const see = (who: string) => seen.push(`${who} ${storage.getStore()}`);
      const work = world.tool("work", async (_, { callId }) => {
        see(callId);
        storage.enterWith(callId);
        await Promise.resolve();
        see(callId);
      });
      const asked =
        (...ids: string[]) =>
        () => {
          see("model");
          return calls(...ids.map((id) => ({ id, name: "work" })));
        };
      const provider = new ScriptedProvider(asked("a", "b"), asked("c", "d"), say("ok"));
      const onEvent = ({ kind }: RunEvent) => void (kind === "tool_result" && see("listener"));
      const runner = world.runner(provider, [work], { onEvent });
      await world.finish(storage.run("run", () => world.run(runner)));
      expect(seen.filter((one) => !one.endsWith(" run"))).toEqual(["a a", "b b", "c c", "d d"]);
      expect(storage.getStore()).toBe(undefined);
    },
  );

  report(
    "C34: spans nest as their calls do, also where two runs below are in flight at once",
    { starts: { sub: 2, leaf: 4 } },
    async (world) => {
      const spans = new AsyncLocalStorage<string>();
      const within = (name: string, code: () => unknown) => spans.run(`${spans.getStore()}/${name}`, code);
      const seen: (string | undefined)[] = [];
      const leaf = world.tool("leaf", async (_, { callId }) => {
        await within(callId, async () => {
          await world.gate.wait(callId);
          seen.push(spans.getStore());
        });
      });
      const below = agent("below", { tools: ["leaf"] });
      const sub = world.tool("sub", (_, ctx) => within(ctx.callId, () => ctx.run(below, "Go.")), { isCaller: true });
      const leaves = () => calls({ id: "x", name: "leaf" }, { id: "y", name: "leaf" });
      const provider = ScriptedProvider.byAgent({
        planner: [calls({ id: "a", name: "sub" }, { id: "b", name: "sub" }), say("ok")],
        below: [leaves, leaves, say("ok"), say("ok")],
      });
      const runner = world.runner(provider, [leaf, sub], { concurrency: { perTool: { leaf: 1 } } });
      await world.finish(spans.run("run", () => world.run(runner, agent("planner", { tools: ["sub"] }))));
      expect(seen.sort()).toEqual(["run/a/x", "run/a/y", "run/b/x", "run/b/y"]);
    },
  );
});
