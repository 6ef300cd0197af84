import type { ModelProvider, RunEvent, RunnerOptions, ToolContext } from "lanekeeper";
import { calls, leakCheck, say, seededRandom, Witness } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, faults, setUp, tool } from "./setting.ts";

const LEAVES = ["a", "b", "c"] as const;

/** A made-up runner, with agents that call leaves and each other, some of them stopped half way. */
async function world(seed: number) {
  const random = seededRandom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const chance = (p: number): boolean => random() < p;
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  const bounds: Record<string, number> = {};
  for (const name of [...LEAVES, "nest", "alone"]) if (chance(0.5)) bounds[name] = 1 + below(2);
  const perTenant = chance(0.6) ? 1 + below(3) : undefined;
  const options: RunnerOptions = {
    concurrency: {
      maxConcurrentTools: 1 + below(4),
      perTool: bounds,
      ...(perTenant === undefined ? {} : { perTenant }),
      ...(chance(0.3) ? { perToolSeconds: { [pick(["nest", "a", "alone"])]: 0.05 + random() } } : {}),
      abandonSeconds: 1,
    },
    ...(chance(0.2) ? { deadlines: { toolCallSeconds: 0.5 + random() } } : {}),
    limits: { maxDepth: 3 },
    onEvent: undefined,
    ...(chance(0.5) ? { approver: async () => ({ approve: true as const }) } : {}),
  };
  const provider: ModelProvider = {
    name: "made-up",
    generate: async ({ messages }) => {
      const turns = messages.filter(({ role }) => role === "assistant").length;
      if (chance(0.02)) throw new Error("overloaded");
      if (turns >= 1 + below(2)) return say("done");
      const names = Array.from({ length: 1 + below(4) }, () =>
        chance(0.35) ? "nest" : pick([...LEAVES, "alone", "nowhere"]),
      );
      return calls(...names.map((name) => ({ [name]: {} })));
    },
  };
  const witness = new Witness();
  const perTenantNow = new Map<string, { now: number; peak: number }>();
  const counted = (name: string, tenant: string, body: () => Promise<unknown>): Promise<unknown> => {
    const count = perTenantNow.get(tenant) ?? { now: 0, peak: 0 };
    perTenantNow.set(tenant, count);
    count.peak = Math.max(count.peak, ++count.now);
    return witness.body(name, body).finally(() => void count.now--);
  };
  const works =
    (name: string) =>
    (_: unknown, { signal, clock, tenant }: ToolContext) =>
      counted(
        name,
        tenant,
        () =>
          new Promise((resolve, reject) => {
            signal.throwIfAborted();
            const timer = clock.setTimer(below(200), () => (chance(0.1) ? reject(new Error("broken")) : resolve(name)));
            signal.addEventListener("abort", () => {
              timer.cancel();
              reject(signal.reason);
            });
          }),
      );
  const nested = agent("nested", chance(0.3) ? { onToolError: "fail_run" } : {});
  const made = setUp(
    provider,
    [
      ...LEAVES.map((name) => tool(name, works(name), { idempotent: chance(0.5), requiresApproval: chance(0.1) })),
      tool("alone", works("alone"), { parallelSafe: false }),
      tool("nest", async (_, ctx) => {
        if (chance(0.1)) {
          void ctx.run(nested, "Left.");
          return "left";
        }
        const runs = Array.from({ length: chance(0.2) ? 2 : 1 }, () =>
          chance(0.5) ? ctx.run(nested, "Go.") : made.runner.run(nested, "Go."),
        );
        return (await Promise.all(runs)).map(({ status }) => status).join();
      }),
    ],
    options,
  );
  const { runner, clock } = made;
  clock.autoAdvance = true;
  const signals = Array.from({ length: 3 }, () => new AbortController());
  const leaks = leakCheck(runner, { clock, signals: signals.map(({ signal }) => signal) });
  const live: RunEvent[] = [];
  const running = signals.map((controller, at) => {
    if (chance(0.4)) clock.setTimer(below(500), () => controller.abort());
    return runner.run(agent(`root${at}`, { concurrency: chance(0.3) ? { maxConcurrentTools: 1 } : {} }), "Go.", {
      tenant: pick(["acme", "other"]),
      signal: controller.signal,
      onEvent: (event) => void live.push(event),
    });
  });
  const runs = await Promise.race([Promise.all(running), hang(60_000)]);
  if (runs === undefined) throw new Error(JSON.stringify(runner.lanes(), undefined, 1));
  await clock.advance(1_000);
  await leaks.done();
  return { runs, live, witness, bounds, perTenant, tenants: [...perTenantNow.values()] };

  /** Everything waits and no timer is left: nobody will ever go on. */
  async function hang(turns: number): Promise<undefined> {
    for (let quiet = 0, turn = 0; quiet < 20 && turn < turns; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      quiet = clock.pending.foreground === 0 ? quiet + 1 : 0;
    }
    return undefined;
  }
}

describe("Semantics 2.4, 4.6, 4.7, 8: made-up worlds of nested agents in narrow lanes", () => {
  it("nothing hangs, no bound is exceeded, each call has its verdict, nothing is left", async () => {
    const from = Number(process.env.SEED ?? 1);
    for (let seed = from; seed < from + Number(process.env.WORLDS ?? 30); seed++) {
      const { runs, live, witness, bounds, perTenant, tenants } = await world(seed).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error });
      });
      for (const [name, bound] of Object.entries(bounds)) {
        if (name !== "nest") expect(witness.peak(name), `seed ${seed}: ${name}`).toBeLessThanOrEqual(bound);
      }
      for (const { peak } of tenants)
        expect(peak, `seed ${seed}: tenant`).toBeLessThanOrEqual(perTenant ?? Number.POSITIVE_INFINITY);
      for (const run of runs) {
        if (run.status !== "suspended") expect(faults(run), `seed ${seed}`).toEqual([]);
      }
      const verdicts = live.filter(({ kind }) =>
        ["tool_result", "tool_error", "tool_indeterminate"].includes(kind),
      ).length;
      const asked = live.filter(({ kind }) => kind === "tool_requested").length;
      const pending = live.flatMap((event) => (event.kind === "run_suspended" ? event.pending : [])).length;
      expect(verdicts + pending, `seed ${seed}`).toBe(asked);
    }
  }, 600_000);
});
