import type { AgentRunner, ToolContext } from "lanekeeper";
import { calls, Deferred } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, errorOf, outcomes } from "../runner/setting.ts";
import { answering, report, standing } from "./report-world.ts";

const worker = agent("worker", { tools: ["leaf"] });
const asked = answering((_, { agent }) => calls(agent === "worker" ? { leaf: {} } : { sub: {} }));
const ONE = { concurrency: { perTenant: 1 } };

/** The ways in which a body gets at the runner. */
const WAYS: Record<string, (ctx: ToolContext, runner: AgentRunner) => Promise<{ status: string }>> = {
  "runner.run": (_, runner) => runner.run(worker, "Go."),
  "runner.stream": (_, runner) => runner.stream(worker, "Go.").run,
  "ctx.run": (ctx) => ctx.run(worker, "Go."),
};

describe("Semantics 4.6, 4.7, 7.2, 7.4: a body may run agents, and one that awaits what can not come is ended", () => {
  for (const [way, start] of Object.entries(WAYS)) {
    for (const times of [1, 5]) {
      report(
        `C61: ${times} run(s) that a body starts at once by ${way} work in its one place, one after the other`,
        { starts: { sub: 1, leaf: times } },
        async (world) => {
          const body = async (_: unknown, ctx: ToolContext): Promise<string> => {
            const all = await Promise.all(Array.from({ length: times }, () => start(ctx, runner)));
            return all.map(({ status }) => status).join(" ");
          };
          const tools = [world.deaf("leaf"), world.tool("sub", body, { isCaller: true })];
          const runner: AgentRunner = world.runner(asked, tools, ONE);
          const running = world.run(runner);
          for (let no = 0; no < times; no++) {
            await world.clock.settle();
            expect(world.gate.waiting).toEqual(["leaf_0"]);
            world.gate.open("leaf_0", "done");
          }
          const run = await world.clock.promptly(running);
          expect(outcomes(run)).toEqual([`sub_0 ok: ${Array(times).fill("completed").join(" ")}`]);
        },
      );
    }

    report(
      `C61: a run that a body starts by ${way} and does not await is in its place all the same, and ends with it`,
      { starts: { sub: 1, leaf: 1 } },
      async (world) => {
        let nested: Promise<{ status: string }> | undefined;
        const body = async (_: unknown, ctx: ToolContext): Promise<unknown> => {
          nested = start(ctx, runner);
          return world.gate.wait("sub");
        };
        const tools = [world.listening("leaf"), world.tool("sub", body, { isCaller: true })];
        const runner: AgentRunner = world.runner(asked, tools, ONE);
        const running = world.run(runner);
        await world.clock.settle();
        expect(world.gate.waiting).toEqual(["sub", "leaf_0"]);
        world.gate.open("sub", "left it");
        expect(outcomes(await world.clock.promptly(running))).toEqual(["sub_0 ok: left it"]);
        expect((await world.clock.promptly(nested as Promise<{ status: string }>)).status).toBe("cancelled");
        expect(standing(runner)).toEqual([]);
      },
    );
  }

  const sibling = answering(() => calls({ id: "a", name: "awaits" }, { id: "b", name: "brings" }));

  for (const [how, options, results] of [
    [
      "its own ceiling ends it, and the sibling runs",
      { concurrency: { perTenant: 1, perToolSeconds: { awaits: 5 } } },
      ["error", "ok"],
    ],
    ["its run's deadline ends both", { ...ONE, deadlines: { runSeconds: 5 } }, ["indeterminate", "never_dispatched"]],
    [
      "the deadline of the tool phase ends both",
      { ...ONE, deadlines: { toolCallSeconds: 5 } },
      ["indeterminate", "never_dispatched"],
    ],
  ] as const) {
    report(
      `C61: when a body awaits a sibling that waits for its place, ${how}`,
      { starts: { awaits: 1, ...(results[1] === "ok" ? { brings: 1 } : {}) } },
      async (world) => {
        const brought = new Deferred();
        const awaits = ({ signal }: ToolContext): Promise<unknown> =>
          Promise.race([
            brought.promise,
            new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
          ]);
        const runner = world.runner(
          sibling,
          [world.tool("awaits", (_, ctx) => awaits(ctx)), world.tool("brings", () => brought.resolve())],
          options,
        );
        const running = world.run(runner);
        await world.clock.advance(4);
        // Nobody can see what a body awaits, but who stands where is there to be read.
        const [tenant] = runner.lanes().filter(({ lane }) => lane === "tenant:default");
        expect(tenant).toMatchObject({ inFlight: 1, waiting: 1, longestWaitSeconds: 4, holders: [{ callId: "a" }] });
        await world.clock.advance(1);
        const run = await world.clock.promptly(running);
        expect(run.results.map(({ status }) => status)).toEqual(results);
        if (run.status !== "completed") expect(errorOf(run).code).toBe("DEADLINE_EXCEEDED");
      },
    );
  }
});
