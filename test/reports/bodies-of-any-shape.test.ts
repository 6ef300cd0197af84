// biome-ignore-all lint/suspicious/noThenProperty: thenables are the subject.
import { runInNewContext } from "node:vm";
import type { ToolContext } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { tool } from "../runner/setting.ts";
import { report } from "./report-world.ts";

type Then = (resolve: (value?: unknown) => void, reject: (reason?: unknown) => void) => unknown;
const thenable = (then: Then) => ({ then });
const boom = (): never => {
  throw new Error("trap");
};
class Delayed extends Promise<unknown> {}
const answersAll = (): unknown => new Proxy({}, { get: () => () => undefined });

const STREAM = "what it returned cannot become a result: an async generator or stream";
const GENERATOR = "what it returned cannot become a result: a generator or iterator";
const MIRROR = "it returned a proxy that answers every property, then too";

/** A body, and how its result begins. */
const BODIES: readonly (readonly [(ctx: ToolContext) => unknown, string])[] = [
  [({ clock }) => new Promise((resolve) => void clock.setTimer(30, () => resolve("later"))), "ok: later"],
  [boom, "error: odd failed: trap"],
  [() => "plain", "ok: plain"],
  [() => ({ then: "not a function" }), 'ok: {"then":"not a function"}'],
  [
    () =>
      thenable((resolve) => {
        resolve("first");
        resolve("second");
      }),
    "ok: first",
  ],
  [
    () =>
      thenable((resolve, reject) => {
        resolve("first");
        reject(new Error("second"));
        boom();
      }),
    "ok: first",
  ],
  [
    () =>
      thenable((resolve, reject) => {
        reject("first");
        resolve("second");
      }),
    "error: odd failed: first",
  ],
  [
    () =>
      thenable((resolve, reject) => {
        resolve(new Promise((later) => queueMicrotask(() => later("slow first"))));
        resolve("quick second");
        reject("quick third");
      }),
    "ok: slow first",
  ],
  [() => thenable(() => {}), "error: odd"],
  [() => new Promise(() => {}), "error: odd"],
  [() => thenable(boom), "error: odd failed: trap"],
  [() => Object.defineProperty({}, "then", { get: boom }), "error: odd failed: trap"],
  [() => thenable(async () => boom()), "error: odd failed: trap"],
  [
    () =>
      thenable(async (resolve) => {
        resolve("first");
        boom();
      }),
    "ok: first",
  ],
  [() => thenable((resolve) => resolve(thenable((again) => again("in two")))), "ok: in two"],
  [async () => thenable((_, reject) => reject()), "error: odd failed: it threw undefined"],
  [
    () =>
      Object.assign(
        () => {},
        thenable((resolve) => resolve("a function too")),
      ),
    "ok: a function too",
  ],
  [
    () => {
      const endless: unknown = thenable((resolve) => resolve(endless));
      return endless;
    },
    "error: odd failed: it returned thenables that give thenables without end",
  ],
  [() => Delayed.resolve("of a subclass"), "ok: of a subclass"],
  [() => runInNewContext("Promise.resolve('elsewhere')"), "ok: elsewhere"],
  [() => runInNewContext("Promise.reject(new TypeError('elsewhere'))"), "error: odd failed: elsewhere"],
  [
    async function* () {
      yield 1;
    },
    `error: odd: ${STREAM}`,
  ],
  [
    function* () {
      yield 1;
    },
    `error: odd: ${GENERATOR}`,
  ],
  [() => [1].values(), `error: odd: ${GENERATOR}`],
  [() => new ReadableStream(), `error: odd: ${STREAM}`],
  [() => answersAll(), `error: odd failed: ${MIRROR}`],
  // Its own promise follows it before the runtime sees it: the ceiling ends it.
  [async () => answersAll(), "error: odd"],
  [
    () => [answersAll()],
    "error: odd: what it returned cannot become a result: [0]: a proxy that answers every property",
  ],
];

const NEVER = BODIES.flatMap(([, begins], no) => (begins === "error: odd" ? [no] : []));

describe("Semantics 2.6, 2.7, 7.2: a body may return and throw in any shape, and each call ends by itself", () => {
  report(
    "C41: of bodies that are no plain async functions each has its one result; those that never settle have their ceiling",
    { starts: { odd: BODIES.length } },
    async (world) => {
      // Counted and no more: whoever waits for a body, to count it, has already made a promise of what it returned.
      const { run: count } = world.tool("odd", () => {});
      const body: typeof count = (args, ctx) => {
        count?.(args, ctx);
        return BODIES[args.no]?.[0](ctx);
      };
      const odd = tool("odd", body, { abandonSeconds: 1 });
      const asked = calls(...BODIES.map((_, no) => ({ odd: { no } })));
      const runner = world.runner(new ScriptedProvider(asked, say("ok")), [odd], {
        concurrency: { maxConcurrentTools: BODIES.length, perToolSeconds: { odd: 50 } },
      });
      const running = world.run(runner);
      await world.clock.advance(0.03);
      const settled = world.heard.flatMap((event) => (event.kind === "tool_completed" ? event.position : []));
      expect(settled.sort((a, b) => a - b)).toEqual(BODIES.map((_, no) => no).filter((no) => !NEVER.includes(no)));
      await world.clock.advance(49.97);
      const run = await world.finish(running);
      for (const [no, [, begins]] of BODIES.entries()) {
        const { status, content } = run.results[no] as (typeof run.results)[number];
        expect(`${no} ${status}: ${content}`.startsWith(`${no} ${begins}`), `${no} ${status}: ${content}`).toBe(true);
        if (NEVER.includes(no))
          expect(run.results[no]?.error).toMatchObject({ code: "TOOL_TIMED_OUT", ceilingSeconds: 50 });
      }
      await world.clock.advance(1);
    },
  );
});
