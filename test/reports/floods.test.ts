import type { AgentRunner, ConcurrencyOptions } from "lanekeeper";
import { calls } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, takes } from "../runner/setting.ts";
import { answering, type ReportWorld, report } from "./report-world.ts";

const planner = agent("planner", { concurrency: { maxConcurrentTools: 50 } });
const asked = answering((input) => calls(...Array.from({ length: Number(input) }, (_, no) => ({ work: { no } }))));

/** What bounds everybody together. */
const SHARED: Record<string, ConcurrencyOptions> = {
  "one tool": { perTool: { work: 4 } },
  "one resource": { perResource: { api: 4 } },
};

function setUp(world: ReportWorld, bounds: ConcurrencyOptions): AgentRunner {
  const work = world.tool("work", takes(20), { resource: "api" });
  return world.runner(asked, [work], { concurrency: { ...bounds, maxConcurrentTools: 50 } });
}

/** Runs that ask for more than they will get, by tenant; called off, they end at once. */
function flood(
  world: ReportWorld,
  runner: AgentRunner,
  tenants: Record<string, { runs: number; each: number }>,
): () => Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const all = Object.entries(tenants).flatMap(([tenant, { runs, each }]) =>
    Array.from({ length: runs }, () => world.run(runner, planner, String(each), { tenant, signal })),
  );
  return async () => {
    stop.abort();
    await world.clock.promptly(Promise.all(all));
    // The bodies do not listen.
    await world.clock.advance(20);
  };
}

/** Whose calls started, in order, from the one at `from` on. */
function started({ heard }: ReportWorld, from = 0): string[] {
  return heard.flatMap((event) => (event.kind === "tool_dispatched" ? [event.tenant] : [])).slice(from);
}

describe("Semantics 4.5: no tenant waits for more than one service of each tenant that waits already", () => {
  for (const [what, bounds] of Object.entries(SHARED)) {
    for (const [how, runs, each] of [
      ["in 20 runs", 20, 50],
      ["in 250 runs", 250, 4],
    ] as const) {
      report(
        `C47: a tenant that floods ${what} ${how} delays another's first call by one service`,
        { starts: { work: 20 } },
        async (world) => {
          const runner = setUp(world, bounds);
          const callOff = flood(world, runner, { flood: { runs, each } });
          await world.clock.advance(50);
          const before = started(world).length;
          const late = world.run(runner, planner, "1", { tenant: "late" });
          await world.clock.advance(10);
          expect(started(world, before).slice(0, 2)).toContain("late");
          await world.clock.advance(20);
          expect((await world.clock.promptly(late)).status).toBe("completed");
          await callOff();
        },
      );
    }

    report(
      `C47: beside two that flood ${what}, a third waits for one service of each at most`,
      { starts: { work: 52 } },
      async (world) => {
        const runner = setUp(world, bounds);
        const callOff = flood(world, runner, { one: { runs: 4, each: 50 }, two: { runs: 40, each: 5 } });
        await world.clock.advance(50);
        const before = started(world).length;
        const late = world.run(runner, planner, "5", { tenant: "late" });
        await world.clock.advance(200);
        const order = started(world, before);
        expect(order.slice(0, 3)).toContain("late");
        // Five calls take five rounds of three tenants, and not more.
        expect(order.lastIndexOf("late")).toBeLessThan(15);
        expect((await world.clock.promptly(late)).status).toBe("completed");
        await callOff();
      },
    );

    report(
      `C47: a tenant that is alone uses all of ${what}, in call order`,
      { starts: { work: 40 } },
      async (world) => {
        const runner = setUp(world, bounds);
        const running = world.run(runner, planner, "40", { tenant: "alone" });
        await world.clock.advance(20 * 10);
        await world.clock.promptly(running);
        const order = world.heard.flatMap((event) => (event.kind === "tool_dispatched" ? [event.position] : []));
        expect(order).toEqual(Array.from({ length: 40 }, (_, no) => no));
      },
    );
  }

  report(
    "C47: a tenant that splits its flood over five tools of one resource gets no more turns there than with one",
    { starts: { a: 4, b: 4, c: 4, d: 4, e: 3, work: 1 } },
    async (world) => {
      const names = ["a", "b", "c", "d", "e"];
      const tools = [...names, "work"].map((name) => world.tool(name, takes(20), { resource: "api" }));
      const split = answering((input) =>
        input === "1"
          ? calls({ work: {} })
          : calls(...Array.from({ length: Number(input) }, (_, no) => ({ [names[no % 5] as string]: { no } }))),
      );
      const runner = world.runner(split, tools, { concurrency: { perResource: { api: 4 }, maxConcurrentTools: 50 } });
      const callOff = flood(world, runner, { flood: { runs: 20, each: 50 } });
      await world.clock.advance(50);
      const before = started(world).length;
      const late = world.run(runner, planner, "1", { tenant: "late" });
      await world.clock.advance(30);
      expect(started(world, before).slice(0, 2)).toContain("late");
      expect((await world.clock.promptly(late)).status).toBe("completed");
      await callOff();
    },
  );
});
