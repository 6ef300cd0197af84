import process from "node:process";
import {
  AgentRunner,
  agentTool,
  type ConcurrencyOptions,
  Lanes,
  type Message,
  type ModelRequest,
  type Run,
  type RunEvent,
  type RunnerOptions,
  type Tool,
  type ToolContext,
} from "lanekeeper";
import { calls, FakeClock, ScriptedProvider, say } from "lanekeeper/testing";
import { afterEach, describe, expect, it } from "vitest";
import { agent } from "../runner/setting.ts";
import { ReportWorld } from "./report-world.ts";

const worlds: ReportWorld[] = [];

function made(): ReportWorld {
  const world = new ReportWorld();
  worlds.push(world);
  return world;
}

/** A world in which one run of one call went well, so that nothing but what a test adds is wrong. */
async function played(options: RunnerOptions = {}): Promise<ReportWorld> {
  const world = made();
  const runner = world.runner(new ScriptedProvider(calls({ work: {} }), say("ok")), [world.deaf("work")], options);
  await world.finish(world.run(runner));
  return world;
}

/** The event of a kind of which there is one. */
function one<Kind extends RunEvent["kind"]>({ heard }: ReportWorld, kind: Kind): Extract<RunEvent, { kind: Kind }> {
  const [event, ...more] = heard.filter((each) => each.kind === kind);
  expect([event?.kind, more.length]).toEqual([kind, 0]);
  return event as Extract<RunEvent, { kind: Kind }>;
}

/** Tells an event at a place of the past: right before the one of this kind. */
function insert(world: ReportWorld, event: RunEvent, before: RunEvent["kind"]): void {
  world.heard.splice(world.heard.indexOf(one(world, before)), 0, event);
}

/** Takes away who else listens to the process, the test runner above all, so that none of them takes ours for theirs. */
async function alone(event: "unhandledRejection" | "warning", run: () => Promise<void>): Promise<void> {
  const others = process.rawListeners(event);
  process.removeAllListeners(event);
  try {
    await run();
  } finally {
    for (const other of others) process.on(event, other as () => void);
  }
}

const ONE = { work: 1 };

/** A transcript with a call that nobody answered. */
const UNANSWERED: Message[] = [
  { role: "user", content: "Go." },
  { role: "assistant", content: "", toolCalls: [{ id: "a", name: "work", args: {} }] },
];

describe("The world of the reports finds what it says it checks", () => {
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.leave();
  });

  it("is content with a run that left nothing", async () => {
    await (await played()).check(ONE);
  });

  it("is content with a run that waits for somebody below an agent, and with its end after it was resumed", async () => {
    for (const isResumed of [false, true]) {
      const world = made();
      const sub = agentTool(agent("worker", { tools: ["work"] }), { name: "sub", description: "" });
      const provider = ScriptedProvider.byAgent({
        planner: [calls({ sub: { input: "x" } }), ...(isResumed ? [say("ok")] : [])],
        worker: [calls({ work: {} }), ...(isResumed ? [say("ok")] : [])],
      });
      const runner = world.runner(provider, [world.tool("work", () => "done", { requiresApproval: true }), sub], {
        agents: [agent("planner")],
      });
      const waiting = await world.clock.promptly(world.run(runner));
      if (waiting.status !== "suspended") throw new Error(`the run is ${waiting.status}`);
      const decisions = Object.fromEntries(waiting.pending.map(({ id }) => [id, { approve: true as const }]));
      if (isResumed) await world.clock.promptly(world.keep(runner.resume(waiting.id, { decisions })));
      await world.check(isResumed ? ONE : {});
    }
  });

  it("is content with two runners in lanes of their own, which are full at once", async () => {
    const world = made();
    const work = world.deaf("work");
    const runners = [1, 2].map(() =>
      world.runner(new ScriptedProvider(calls({ work: {} }), say("ok")), [work], {
        concurrency: { perTool: { work: 1 } },
      }),
    );
    const running = runners.map((runner) => world.run(runner));
    await world.clock.settle();
    expect(world.gate.waiting).toHaveLength(2);
    for (const run of running) await world.finish(run);
    await world.check({ work: 2 });
  });

  it("G1: a request that a strict vendor would refuse", async () => {
    const world = made();
    const broken: ModelRequest = { model: "m", instructions: "", messages: UNANSWERED, tools: [], settings: {} };
    const call = { id: "run_1", path: "0", turn: 1, agent: "planner", tenant: "default" };
    const provider = world.watched({ name: "any", generate: async () => say("ok") });
    await provider.generate(broken, { signal: new AbortController().signal, run: call });
    await expect(world.check({})).rejects.toThrow(/G1: requests that a strict vendor would refuse/);
  });

  it("G1: a transcript that ends with a call that nobody answered", async () => {
    const world = await played();
    await world.keep(Promise.resolve({ status: "completed", messages: UNANSWERED } as unknown as Run));
    await expect(world.check(ONE)).rejects.toThrow(/G1: a transcript/);
  });

  const TOLD: Record<string, { tell: (world: ReportWorld) => void; finds: RegExp }> = {
    "an attempt that started twice": {
      tell: (world) => insert(world, one(world, "tool_dispatched"), "tool_completed"),
      finds: /t1_work_0: attempt 1 started twice/,
    },
    "an attempt that started after its call's verdict": {
      tell: (world) => insert(world, { ...one(world, "tool_dispatched"), attempt: 2 }, "batch_resolved"),
      finds: /t1_work_0: attempt 2 started after its verdict/,
    },
    "a second verdict": {
      tell: (world) => insert(world, one(world, "tool_result"), "batch_resolved"),
      finds: /t1_work_0: 2 terminal events/,
    },
    "a call without a verdict": {
      tell: (world) => world.heard.splice(world.heard.indexOf(one(world, "tool_result")), 1),
      finds: /t1_work_0: 0 terminal events/,
    },
    "an event after its run's end": {
      tell: (world) => world.heard.push(one(world, "tool_completed")),
      finds: /run_1 0: tool_completed after its run's end/,
    },
    "an event of a run below one that has ended": {
      tell: (world) => world.heard.push({ ...one(world, "run_started"), path: "0/1.0" }),
      finds: /run_1 0\/1\.0: run_started after its run's end/,
    },
    "a run that ended twice": {
      tell: (world) => world.heard.push(one(world, "run_completed")),
      finds: /run_1 0: run_completed after its run's end/,
    },
    "a run whose end was never told": {
      tell: (world) => world.heard.push({ ...one(world, "run_started"), runId: "run_2" }),
      finds: /run_2 0: its end was never told/,
    },
  };
  for (const [what, { tell, finds }] of Object.entries(TOLD)) {
    it(`G2: ${what}`, async () => {
      const world = await played();
      tell(world);
      await expect(world.check(ONE)).rejects.toThrow(finds);
    });
  }

  it("G2: what a deaf body does after its run's end is no fault", async () => {
    const world = made();
    const stop = new AbortController();
    const runner = world.runner(new ScriptedProvider(calls({ work: {} })), [world.deaf("work")]);
    const running = world.run(runner, agent("planner"), "Go.", { signal: stop.signal });
    await world.clock.promptly(world.gate.arrived("t1_work_0"));
    stop.abort();
    await world.clock.promptly(running);
    await world.finish(running);
    expect(world.heard.at(-1)?.kind).toBe("tool_late_result");
    await world.check(ONE);
  });

  it("G3: a place that was never given back", async () => {
    const lanes = new Lanes({ perTool: { work: 2 } }, { clock: new FakeClock() });
    const world = await played({ lanes });
    const permit = await lanes.acquire({ tool: "work" });
    await expect(world.check(ONE)).rejects.toThrow(/G3: fresh calls of work that start at once for default/);
    permit.release();
  });

  it("G3: a place in a lane that no tool of the world stands in", async () => {
    const lanes = new Lanes({ perTool: { other: 2 } }, { clock: new FakeClock() });
    const world = await played({ lanes });
    const permit = await lanes.acquire({ tool: "other" });
    await expect(world.check(ONE)).rejects.toThrow(/lane tool:other: 1 in flight/);
    permit.release();
  });

  it("G4: a promise that was rejected and that nobody heard of", () =>
    alone("unhandledRejection", async () => {
      const world = await played();
      void Promise.reject(new Error("unheard"));
      await expect(world.check(ONE)).rejects.toThrow(/nobody listened: Error: unheard/);
    }));

  it("G4: a warning of the process, also in a world without a runner", () =>
    alone("warning", async () => {
      const world = made();
      process.emitWarning("11 abort listeners added", "MaxListenersExceededWarning");
      await expect(world.check({})).rejects.toThrow(/the process warned: MaxListenersExceededWarning/);
    }));

  it("G4: an error that a runner reported", async () => {
    const world = await played({
      onEvent: () => {
        throw new Error("a listener broke");
      },
    });
    await expect(world.check(ONE)).rejects.toThrow(/what nobody expected to be thrown/);
  });

  it("G5: a listener that was left on a signal", async () => {
    const world = await played();
    const { signal } = new AbortController();
    world.watch(signal);
    signal.addEventListener("abort", () => {});
    await expect(world.check(ONE)).rejects.toThrow(/a watched signal has 1 abort listeners, 0 when the watch began/);
  });

  it("G6: a count that is one off, either way, and a tool that nobody named", async () => {
    for (const starts of [{ work: 2 }, {}, { work: 1, other: 1 }]) {
      const world = await played();
      await expect(world.check(starts)).rejects.toThrow(/G6: bodies started/);
    }
  });

  it("G6: a body that started without a word", async () => {
    const world = await played();
    const quiet = world.tool("quiet", () => "done");
    const provider = new ScriptedProvider(calls({ quiet: {} }), say("ok"));
    await new AgentRunner({ provider, tools: [quiet] }).run(agent("planner"), "Go.");
    await expect(world.check({ ...ONE, quiet: 1 })).rejects.toThrow(/G6: bodies started, as it was told/);
  });

  const BOUNDS: Record<string, { concurrency: ConcurrencyOptions; finds: string }> = {
    "tool's": { concurrency: { perTool: { work: 1 } }, finds: "tool work" },
    "tenant's": { concurrency: { perTenant: 1 }, finds: "tenant default" },
    "tenant's, told by a function,": { concurrency: { perTenant: () => ({ inFlight: 1 }) }, finds: "tenant default" },
    "resource's": { concurrency: { perResource: { maps: 1 } }, finds: "resource maps" },
    "turn's": { concurrency: { maxConcurrentTools: 1 }, finds: "turn run_1 0 1" },
  };
  for (const [whose, { concurrency, finds }] of Object.entries(BOUNDS)) {
    it(`G6: a ${whose} bound that was passed`, async () => {
      const world = made();
      // Its body starts itself once more, past all lanes.
      const body = ({ again = false }, ctx: ToolContext): unknown => again || work.run?.({ again: true }, ctx);
      const work: Tool = world.tool("work", async (args, ctx) => body(args, ctx), { resource: "maps" });
      const runner = world.runner(new ScriptedProvider(calls({ work: {} }), say("ok")), [work], { concurrency });
      await world.clock.promptly(world.run(runner));
      insert(world, { ...one(world, "tool_dispatched"), attempt: 2 }, "tool_completed");
      await expect(world.check({ work: 2 })).rejects.toThrow(`${finds}: 2 at once, 1 allowed`);
    });
  }

  it("G7: a timer that was left on the clock", async () => {
    const world = await played();
    world.clock.setTimer(1_000, () => {}, { background: true });
    await expect(world.check(ONE)).rejects.toThrow(/a background timer due in 1 s/);
  });

  it("G7: a timer of the host's that would keep the process alive", async () => {
    const world = await played();
    const timer = setTimeout(() => {}, 60_000);
    await expect(world.check(ONE)).rejects.toThrow(/G7: what keeps the process alive/);
    clearTimeout(timer);
  });

  it("a body that was never let go, and a step of the script that nobody asked for", async () => {
    const world = made();
    const held = world.gate.wait("work_0");
    await expect(world.check({})).rejects.toThrow(/the case let every body go/);
    world.gate.openAll("done");
    await held;
    world.runner(new ScriptedProvider(say("ok")), []);
    await expect(world.check({})).rejects.toThrow(/step 1 of 1 was never asked for/);
  });
});
