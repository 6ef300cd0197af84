import type { ConcurrencyOptions, RunEventKind, Tool, ToolContext, ToolResult } from "lanekeeper";
import { seededRandom } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { BatchWorld, type Running, tool } from "./batch-world.ts";

const SEEDS = 200;
const NAMES = ["p", "q", "r", "s"];
const VERDICTS: RunEventKind[] = ["tool_result", "tool_error", "tool_indeterminate"];
const AFTERLIFE: RunEventKind[] = ["tool_late_result", "tool_overdue", "tool_abandoned"];

/** A made-up batch: tools of all kinds, bounds, ceilings, deadlines, gates, and perhaps a stop somewhere. */
class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  one<T>(...values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T;
  }

  maybe<T>(chance: number, value: T): T | undefined {
    return this.#random() < chance ? value : undefined;
  }

  bounds(): ConcurrencyOptions {
    const perName = (chance: number): Record<string, number> =>
      Object.fromEntries(NAMES.flatMap((name) => this.maybe(chance, [[name, this.one(1, 2)]] as const) ?? []));
    return {
      perTool: perName(0.4),
      perToolSeconds: perName(0.3),
      perTenant: this.one(1, 2, 3, 20),
      maxWaitSeconds: this.one(2, Number.POSITIVE_INFINITY),
      abandonSeconds: this.one(1, 5),
    };
  }

  tools(world: BatchWorld): Tool[] {
    return NAMES.map((name) => {
      const idempotent = this.one(true, false);
      const retry = idempotent ? this.maybe(0.6, { attempts: 3, backoffSeconds: this.one(0, 0.5) }) : undefined;
      const run = (_args: unknown, ctx: ToolContext): unknown => {
        world.witness.enter(ctx.callId);
        return this.#body(world, ctx);
      };
      return tool(name, {
        run,
        idempotent,
        retry,
        parallelSafe: this.one(true, true, false),
        requiresApproval: this.one(false, false, true),
      });
    });
  }

  #body(world: BatchWorld, ctx: ToolContext): unknown {
    const kind = this.one("returns", "throws", "tells", "deaf", "listens");
    if (kind === "returns") return "returned";
    if (kind === "throws") throw new Error("thrown");
    if (kind === "tells") ctx.progress(0.5);
    return new Promise((resolve, reject) => {
      world.clock.setTimer(this.one(0, 100, 1_500, 4_000), () => resolve("resolved"));
      if (kind === "listens") ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
    });
  }
}

function check(batch: Running, results: readonly ToolResult[], count: number, world: BatchWorld): void {
  expect(results.map(({ callId }) => callId)).toEqual(Array.from({ length: count }, (_, at) => `c${at}`));
  for (const { callId, status, content, mayHaveLanded, error } of results) {
    const kinds = batch.events.flatMap((event) => ("callId" in event && event.callId === callId ? event.kind : []));
    const verdict = kinds.findIndex((kind) => VERDICTS.includes(kind));
    expect(kinds.filter((kind) => VERDICTS.includes(kind))).toHaveLength(1);
    expect(kinds.slice(verdict + 1).filter((kind) => !AFTERLIFE.includes(kind))).toEqual([]);
    const starts = kinds.filter((kind) => kind === "tool_dispatched").length;
    expect(world.witness.starts(callId)).toBe(starts);
    if (status === "never_dispatched") expect(starts).toBe(0);
    expect(status === "never_dispatched").toBe(content.startsWith("never dispatched: "));
    expect(mayHaveLanded).toBe(content.endsWith("The side effect may have landed."));
    expect(error?.code).not.toBe("INTERNAL");
  }
}

describe("Semantics 2.4, 2.8, 7.3: batches made up by chance end with one true result for each call, and nothing left", () => {
  it(`${SEEDS} of them`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const dice = new Dice(seed);
      const world = new BatchWorld(dice.bounds());
      const controller = new AbortController();
      const leaks = world.leaks([controller.signal]);
      const count = dice.one(1, 3, 8);
      const calls = Array.from({ length: count }, (_, at) => `c${at}:${dice.one(...NAMES, "none")}`).join(" ");
      let untilAbort = dice.maybe(0.6, dice.one(1, 5, 9, 14, 20, 33)) ?? Number.POSITIVE_INFINITY;
      const batch = await world.start(
        calls,
        {
          tools: dice.tools(world),
          onToolError: dice.one("fail_run", "surface_to_model"),
          deadlines: { toolCallSeconds: dice.one(1, 3, Number.POSITIVE_INFINITY) },
          approver: async () => dice.one({ approve: true }, { approve: false }, { result: 1 }),
          hooks: dice.one([], [{ name: "h", afterTool: async () => dice.one(undefined, { result: 2 }) }]),
          onEvent: () => {
            untilAbort--;
            if (untilAbort === 0) controller.abort();
          },
        },
        controller,
      );
      await world.clock.advance(200);
      try {
        check(batch, await world.finished(batch), count, world);
        await leaks.done();
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
  });
});
