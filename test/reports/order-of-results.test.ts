import { MemoryJournal, type Run, type RunEvent, type RunnerOptions, type ToolContext } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { about } from "../runner/resuming.ts";
import { agent, untilStopped } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

const ASKED = calls(
  { id: "a", name: "work" },
  { id: "b", name: "work" },
  { id: "c", name: "fail" },
  { id: "d", name: "hang" },
  { id: "e", name: "pay" },
  { id: "f", name: "nowhere" },
);
/** Late enough that three can end before it, a second apart. */
const CEILING = 3.5;

type Seconds = { readonly a: number; readonly b: number; readonly c: number };

function ordersOf(names: readonly string[]): string[][] {
  if (names.length === 0) return [[]];
  return names.flatMap((name) => ordersOf(names.filter((one) => one !== name)).map((rest) => [name, ...rest]));
}

/** Every order in which `a`, `b` and `c` can end, with the ceiling of `d` in each place among them. */
const ORDERS: readonly Seconds[] = ordersOf(["a", "b", "c", "d"]).map((order) => {
  const seconds = (name: string): number => CEILING + order.indexOf(name) - order.indexOf("d");
  return { a: seconds("a"), b: seconds("b"), c: seconds("c") };
});
const FEW = [0, 7, 16, 23].map((at) => ORDERS[at] as Seconds);

/** A runner whose bodies take as long as `takes` says at the time. */
function setUp(world: ReportWorld, orders: readonly Seconds[], options: RunnerOptions) {
  const takes: { seconds: Seconds } = { seconds: orders[0] as Seconds };
  const wait = ({ callId, clock, state }: ToolContext): Promise<string> => {
    state.set("last", callId);
    state.set("seen", [callId]);
    const seconds = takes.seconds[callId as keyof Seconds];
    return new Promise((resolve) => void clock.setTimer(seconds * 1_000, () => resolve(callId)));
  };
  const tools = [
    world.tool("work", async (_, ctx) => ({ by: await wait(ctx) })),
    world.tool("fail", async (_, ctx) => {
      throw new Error(`failed: ${await wait(ctx)}`);
    }),
    world.tool("hang", untilStopped),
    world.tool("pay", () => "paid", { requiresApproval: true }),
  ];
  const planner = agent("planner", {
    state: { seen: { initial: [], reduce: (old: string[], next: string[]) => [...old, ...next] } },
  });
  const script = new ScriptedProvider(...orders.flatMap(() => [ASKED, say("ok")]));
  const concurrency = { perToolSeconds: { hang: CEILING } };
  const runner = world.runner(script, tools, { concurrency, agents: [planner], ...options });
  const play = async (seconds: Seconds): Promise<Run> => {
    takes.seconds = seconds;
    const running = world.run(runner, planner);
    await world.clock.advance(2 * CEILING);
    return world.finish(running);
  };
  return { runner, play };
}

/** All that is promised to be the same of an event: not when, and not how long. */
const MEASURED = new Set(["at", "runId", "seconds", "waitedSeconds"]);
const steady = (event: RunEvent) => Object.fromEntries(Object.entries(event).filter(([key]) => !MEASURED.has(key)));

/** What was asked last, and the transcript, byte for byte. */
const bytes = (world: ReportWorld, { messages }: Run): string => JSON.stringify([world.requests.at(-1), messages]);
/** What else came of the run. */
const outcome = ({ results, state }: Run): unknown => JSON.parse(JSON.stringify({ results, state }));

const OUTCOMES = ["a ok", "b ok", "c error", "d error", "e never_dispatched", "f error"];

describe("Semantics 2.3, 3.6, 6: the model is told in call order, byte for byte the same whoever ended first", () => {
  report(
    `C25: in ${ORDERS.length} orders of ending, requests, transcript, results, state and recorded events are the same`,
    { starts: { work: 2 * ORDERS.length, fail: ORDERS.length, hang: ORDERS.length } },
    async (world) => {
      const { play } = setUp(world, ORDERS, { approver: () => ({ approve: false, reason: "too dear" }) });
      const told = new Set<string>();
      const lived = new Set<string>();
      for (const seconds of ORDERS) {
        const heard = world.heard.length;
        const run = await play(seconds);
        expect(run.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual(OUTCOMES);
        expect(run.state).toEqual({ seen: ["a", "b"], last: "b" });
        told.add(bytes(world, run) + JSON.stringify([outcome(run), run.events.map(steady)]));
        const ended = new Set<RunEvent["kind"]>(["tool_completed", "tool_late_result"]);
        const live = world.heard
          .slice(heard)
          .flatMap((event) => (ended.has(event.kind) && "callId" in event ? event.callId : []));
        lived.add(live.join());
      }
      expect(told.size).toBe(1);
      // They did end in as many orders: what is told live says so.
      expect(lived.size).toBe(ORDERS.length);
    },
  );

  for (const [what, decision] of [
    ["denies", { approve: false, reason: "too dear" }],
    ["approves", { approve: true }],
    ["answers in its place", { result: { by: "hand" } }],
  ] as const) {
    const pays = "approve" in decision && decision.approve ? { pay: 2 * FEW.length } : {};
    report(
      `C25: a run that waited for somebody who ${what} goes on as one in which they answered at once`,
      { starts: { work: 4 * FEW.length, fail: 2 * FEW.length, hang: 2 * FEW.length, ...pays } },
      async (world) => {
        const live = setUp(world, FEW, { approver: () => decision });
        const durable = setUp(world, FEW, { journal: new MemoryJournal() });
        for (const seconds of FEW) {
          const whole = await live.play(seconds);
          const asked = bytes(world, whole);
          const first = await durable.play(seconds);
          const resuming = durable.runner.resume(first.id, { decisions: about(first, decision) }) as Promise<Run>;
          const resumed = await world.finish(world.keep(resuming));
          expect(bytes(world, resumed)).toBe(asked);
          expect(outcome(resumed)).toEqual(outcome(whole));
        }
      },
    );
  }
});
