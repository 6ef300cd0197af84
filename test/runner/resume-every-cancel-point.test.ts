import { agentTool, MemoryJournal, type RunEvent, type ToolContext } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say, Witness } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { about, approve, payments, pendingOf, verdicts } from "./resuming.ts";
import { agent, faults, setUp, takes, tool } from "./setting.ts";

/** A run that waits in two places and holds calls back, resumed and aborted behind its n-th live event. */
async function abortedAt(n: number, microtasks: number, partly: boolean, shared: boolean) {
  const witness = new Witness();
  const controller = new AbortController();
  const late: string[] = [];
  const body =
    (name: string) =>
    (args: unknown, ctx: ToolContext): Promise<unknown> => {
      if (controller.signal.aborted && !ctx.signal.aborted) late.push(`${name} was dispatched`);
      return witness.body(name, async () => takes(0.1)(args as never, ctx));
    };
  const asking = (response: ReturnType<typeof calls>) => () => {
    if (controller.signal.aborted) late.push("a model was asked");
    return response;
  };
  const provider = ScriptedProvider.byAgent({
    planner: [
      calls(
        { id: "a", name: "pay" },
        { id: "s", name: "sub", args: { input: "x" } },
        { id: "b", name: "payAlone" },
        { id: "c", name: "find" },
      ),
      asking(calls({ id: "d", name: "find" })),
      asking(say("done")),
    ],
    worker: [calls({ id: "p", name: "pay" }, { id: "q", name: "sign" }), asking(say("worked"))],
  });
  const { pay } = payments({ run: body("pay") });
  const planner = agent("planner", {
    tools: [
      "pay",
      "payAlone",
      "find",
      agentTool(agent("worker", { tools: ["pay", "sign"] }), { name: "sub", description: "" }),
    ],
  });
  const made = setUp(
    provider,
    [
      pay,
      tool("payAlone", body("payAlone"), { requiresApproval: true, parallelSafe: false }),
      tool("find", body("find"), { idempotent: true }),
      tool("sign"),
    ],
    { agents: [planner], concurrency: { perTool: { pay: 1 } }, ...(shared ? { journal: new MemoryJournal() } : {}) },
  );
  const { runner, clock, heard } = made;
  const first = await clock.promptly(runner.run(planner, "Go."));
  clock.autoAdvance = true;
  const leaks = leakCheck(runner, { clock, signal: controller.signal });
  let seen = 0;
  const onEvent = (_: RunEvent): void => {
    if (++seen !== n) return;
    let later = Promise.resolve();
    if (microtasks === 0) controller.abort();
    for (let turn = 0; turn < microtasks; turn++) later = later.then(() => {});
    if (microtasks > 0) void later.then(() => controller.abort());
  };
  const all = about(first, approve);
  for (const { id, tool: name } of pendingOf(first)) if (name === "sign") all[id] = { result: "signed" };
  const decisions = partly ? Object.fromEntries(Object.entries(all).filter((_, at) => at % 2 === 1)) : all;
  const run = await runner.resume(first.id, { decisions, onEvent, signal: controller.signal });
  await leaks.done();
  return { run, heard, late, witness, seen, runner };
}

describe("Semantics 2.4, 3.6, 4.10, 8: whenever a resume is cancelled, every call has its one verdict and nothing is left", () => {
  for (const partly of [false, true]) {
    for (const shared of [false, true]) {
      it(`behind each live event of one that decides about ${partly ? "some" : "all"}${shared ? ", on a journal" : ""}`, async () => {
        const plain = await abortedAt(-1, 0, partly, shared);
        expect(plain.run.status).toBe(partly ? "suspended" : "completed");
        const endings = new Set<string>();
        for (let n = 1; n <= plain.seen; n++) {
          for (const microtasks of [0, 1, 2, 3, 5, 8, 13]) {
            const at = `behind event ${n}, ${microtasks} microtasks`;
            const { run, heard, late, witness, runner } = await abortedAt(n, microtasks, partly, shared);
            endings.add(run.status);
            expect(late, at).toEqual([]);
            expect(witness.inFlight(), at).toBe(0);
            // Those that still wait have none, nor have those held back behind them.
            const told = Object.entries(verdicts(heard)).filter(([key]) => /^0\/\d\.\d$/.test(key));
            if (run.status === "suspended") {
              expect(run.messages.at(-1)?.role, at).toBe("assistant");
              continue;
            }
            expect(faults(run), at).toEqual([]);
            expect(
              told.filter(([, count]) => count !== 1),
              at,
            ).toEqual([]);
            expect(told.length, at).toBe(run.results.length);
            await expect(runner.resume(run.id), at).rejects.toMatchObject({ code: "CONFIGURATION" });
          }
        }
        expect([...endings].sort()).toEqual(["cancelled", partly ? "suspended" : "completed"]);
      }, 60_000);
    }
  }
});
