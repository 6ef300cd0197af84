import { agentTool, type Run, type RunEvent, type ToolContext } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say, Witness } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, faults, setUp, tool } from "./setting.ts";

/** A body that takes so long and ends at once when it is told to stop. */
const listens =
  (seconds: number) =>
  (_: unknown, { signal, clock }: ToolContext): Promise<string> =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const timer = clock.setTimer(seconds * 1_000, () => resolve("done"));
      signal.addEventListener("abort", () => {
        timer.cancel();
        reject(signal.reason);
      });
    });

/** Two levels of agents in narrow lanes, with a failing call, one that runs alone, approvals, gates and a left run. */
function world(isAborted: () => boolean, suspends: boolean) {
  const witness = new Witness();
  const late: string[] = [];
  const noting =
    (name: string, seconds: number) =>
    (args: unknown, ctx: ToolContext): Promise<string> => {
      // Whoever hears of a dispatch may cancel then: that body finds its signal aborted.
      if (isAborted() && !ctx.signal.aborted) late.push(`${name} was dispatched`);
      return witness.body(name, () => listens(seconds)(args, ctx));
    };
  const asking = (response: ReturnType<typeof calls>) => () => {
    if (isAborted()) late.push("a model was asked");
    return response;
  };
  const provider = ScriptedProvider.byAgent({
    planner: [
      asking(
        calls(
          { leaf: {} },
          { sub: { input: "x" } },
          { pay: {} },
          { left: {} },
          { nowhere: {} },
          { alone: {} },
          { sub: { input: "y" } },
        ),
      ),
      asking(calls({ pay: {} }, { leaf: {} })),
      say("done"),
    ],
    worker: [1, 2].flatMap(() => [asking(calls({ leaf: {} }, { breaks: {} }, { leaf: {} })), asking(say("ok"))]),
    lefty: [asking(calls({ leaf: {} }))],
  });
  const lefty = agent("lefty", { tools: ["leaf"] });
  const made = setUp(
    provider,
    [
      tool("leaf", noting("leaf", 0.1), { idempotent: true }),
      tool("breaks", () => Promise.reject(new Error("broken"))),
      tool("pay", noting("pay", 0.1), { requiresApproval: true }),
      tool("alone", noting("alone", 0.1), { parallelSafe: false }),
      tool("left", (_, ctx) => {
        void ctx.run(lefty, "Go.");
        return "left it";
      }),
      agentTool(agent("worker", { tools: ["leaf", "breaks"] }), { name: "sub", description: "" }),
    ],
    {
      concurrency: { perTenant: 3, perTool: { leaf: 1 }, perToolSeconds: { sub: 60 } },
      deadlines: { runSeconds: 600, modelCallSeconds: 60, toolCallSeconds: 300 },
      ...(suspends ? {} : { approver: async () => ({ approve: true as const }) }),
      hooks: [{ name: "audit", beforeTool: async () => {}, afterTool: () => {} }],
      onEvent: undefined,
    },
  );
  made.clock.autoAdvance = true;
  return { ...made, late, witness };
}

/** Runs the world and aborts behind its n-th live event: at once, or as many turns of the microtask queue later. */
async function abortedAt(n: number, microtasks: number, suspends: boolean) {
  const controller = new AbortController();
  const { runner, clock, late, witness } = world(() => controller.signal.aborted, suspends);
  const leaks = leakCheck(runner, { clock, signal: controller.signal });
  let seen = 0;
  const live: RunEvent[] = [];
  const onEvent = (event: RunEvent): void => {
    live.push(event);
    if (++seen !== n) return;
    let later = Promise.resolve();
    if (microtasks === 0) controller.abort();
    for (let turn = 0; turn < microtasks; turn++) later = later.then(() => {});
    if (microtasks > 0) void later.then(() => controller.abort());
  };
  const run = await runner.run(agent("planner"), "Go.", { signal: controller.signal, onEvent });
  const settledAtMs = clock.monotonic();
  await leaks.done();
  expect(clock.monotonic()).toBe(settledAtMs);
  return { run, live, late, witness };
}

const VERDICTS = new Set(["tool_result", "tool_error", "tool_indeterminate"]);

function checkEnding({ run, live, late, witness }: Awaited<ReturnType<typeof abortedAt>>): void {
  expect(late).toEqual([]);
  expect(witness.inFlight()).toBe(0);
  expect(witness.peak("leaf")).toBeLessThanOrEqual(1);
  // One verdict for each call that was asked for, in the outermost run and in those below; pending ones have none yet.
  const pending = new Set(run.status === "suspended" ? run.pending.map(({ id }) => id) : []);
  const told = new Map<string, number>();
  for (const event of live) {
    if (!("callId" in event)) continue;
    const key = `${event.runId}/${event.path}/${event.turn}.${event.position}`;
    if (event.kind === "tool_requested") told.set(key, told.get(key) ?? 0);
    if (VERDICTS.has(event.kind)) told.set(key, (told.get(key) ?? 0) + 1);
  }
  expect([...told].filter(([key, verdicts]) => verdicts !== (pending.has(key) ? 0 : 1))).toEqual([]);
  expect(live.filter(({ path, kind }) => path === "0" && /^run_(?!started)/.test(kind))).toHaveLength(1);
  if (run.status === "suspended") expect(run.messages.at(-1)?.role).toBe("assistant");
  else expect(faults(run)).toEqual([]);
}

describe("Semantics 2.4, 4.10, 8: whenever a run is cancelled, its transcript is complete and nothing is left", () => {
  for (const suspends of [false, true]) {
    it(`behind each live event of a run with nested agents${suspends ? ", when it would suspend" : ""}`, async () => {
      const plain = await abortedAt(-1, 0, suspends);
      expect(plain.run.status).toBe(suspends ? "suspended" : "completed");
      checkEnding(plain);
      const endings: Run["status"][] = [];
      for (let n = 1; n <= plain.live.length; n++) {
        for (const microtasks of [0, 3, 1 + (n % 12)]) {
          const aborted = await abortedAt(n, microtasks, suspends);
          checkEnding(aborted);
          endings.push(aborted.run.status);
        }
      }
      expect(new Set(endings)).toEqual(new Set(["cancelled", plain.run.status]));
    }, 60_000);
  }

  it("behind each event of its stream, when its reader leaves there", async () => {
    const endings: Run["status"][] = [];
    let ends = 0;
    for (let n = 1; ends === 0; n++) {
      const controller = new AbortController();
      const { runner, clock, late, witness } = world(() => controller.signal.aborted, false);
      const leaks = leakCheck(runner, { clock });
      const live: RunEvent[] = [];
      const stream = runner.stream(agent("planner"), "Go.", { onEvent: (event) => void live.push(event) });
      let seen = 0;
      for await (const { kind, path } of stream) {
        if (kind === "run_completed" && path === "0") ends++;
        if (++seen < n) continue;
        controller.abort();
        break;
      }
      const run = await stream.run;
      await leaks.done();
      checkEnding({ run, live, late, witness });
      endings.push(run.status);
    }
    // The last events are read when the run has its ending already.
    expect([endings[0], endings.at(-1), new Set(endings).size]).toEqual(["cancelled", "completed", 2]);
  }, 60_000);
});
