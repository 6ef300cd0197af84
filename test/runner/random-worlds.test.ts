import type { ModelDelta, ModelProvider, ModelResponse, RunEvent, RunnerOptions, ToolContext } from "lanekeeper";
import { calls, leakCheck, say, seededRandom, Witness } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, faults, setUp, tool } from "./setting.ts";

const LEAVES = ["a", "b", "c"] as const;

/** A response in pieces that take their time; one in twenty breaks off, one in twenty begins again. */
async function* streamed(response: ModelResponse, seed: number): AsyncGenerator<ModelDelta> {
  const random = seededRandom(seed);
  const last = random() < 0.05 ? Math.floor(random() * 8) : Number.POSITIVE_INFINITY;
  let sent = 0;
  for (let tries = random() < 0.05 ? 2 : 1; tries > 0; tries--) {
    for (const [index, { id, name }] of response.toolCalls.entries()) {
      yield { type: "tool_call_start", index, id, name };
      yield { type: "tool_call_delta", index, argsText: "{}" };
      yield { type: "tool_call_end", index };
      for (let turns = Math.floor(random() * 4); turns > 0; turns--) await new Promise(setImmediate);
      if (++sent > last) throw new Error("connection lost");
    }
  }
  yield { type: "end", response };
}

/** A made-up runner, with agents that call leaves and each other, some of them stopped half way. */
async function world(seed: number, dispatch: "after_gates" | "eager") {
  const random = seededRandom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const chance = (p: number): boolean => random() < p;
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  const bounds: Record<string, number> = {};
  for (const name of [...LEAVES, "nest", "alone"]) if (chance(0.5)) bounds[name] = 1 + below(2);
  const perTenant = chance(0.6) ? 1 + below(3) : undefined;
  const options: RunnerOptions = {
    dispatch,
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
  if (dispatch === "eager") {
    let asked = 0;
    provider.stream = async function* (request, call) {
      const response = await provider.generate(request, call);
      // Ids of their own, as vendors give them: else most calls would wait for the whole response.
      const own = ++asked;
      const toolCalls = response.toolCalls.map((one, at) => ({ ...one, id: `${call.run.path}_${own}_${at}` }));
      yield* streamed({ ...response, toolCalls }, seed * 1_000 + own);
    };
  }
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

  /** No timer is left, and nobody streams any more, which takes some turns of the event loop: nobody will ever go on. */
  async function hang(turns: number): Promise<undefined> {
    for (let quiet = 0, turn = 0; quiet < 100 && turn < turns; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      quiet = clock.pending.foreground === 0 ? quiet + 1 : 0;
    }
    return undefined;
  }
}

/** How many calls went out while their model still streamed. */
function outBeforeResponse(live: readonly RunEvent[]): number {
  const streaming = new Set<string>();
  let count = 0;
  for (const { kind, runId, path } of live) {
    const place = `${runId} ${path}`;
    if (kind === "model_requested") streaming.add(place);
    if (kind === "model_responded") streaming.delete(place);
    if (kind === "tool_dispatched" && streaming.has(place)) count++;
  }
  return count;
}

describe("Semantics 2.4, 3.10, 4.6, 4.7, 8: made-up worlds of nested agents in narrow lanes", () => {
  it.each(["after_gates", "eager"] as const)(
    "nothing hangs, no bound is exceeded, each call has its verdict, nothing is left: dispatch %s",
    async (dispatch) => {
      const from = Number(process.env.SEED ?? 1);
      let early = 0;
      for (let seed = from; seed < from + Number(process.env.WORLDS ?? 30); seed++) {
        const { runs, live, witness, bounds, perTenant, tenants } = await world(seed, dispatch).catch(
          (error: unknown) => {
            throw new Error(`seed ${seed}`, { cause: error });
          },
        );
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
        early += outBeforeResponse(live);
      }
      // What never went out early has shown nothing of it.
      if (dispatch === "eager") expect(early).toBeGreaterThan(10);
      else expect(early).toBe(0);
    },
    600_000,
  );
});
