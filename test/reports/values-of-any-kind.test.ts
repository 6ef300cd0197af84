import { MemoryJournal, type Run } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { about, answers } from "../runner/resuming.ts";
import { agent } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

class Account {
  readonly owner: string = "ann";
  readonly #secret = "s3cret";
  get length(): number {
    return this.#secret.length;
  }
}

const throws = (): never => {
  throw new Error("not for you");
};

const circle: unknown[] = [];
circle.push({ circle });

const deep = (levels: number): unknown => {
  let value: unknown = "bottom";
  for (let level = 0; level < levels; level++) value = { in: value };
  return value;
};

/** What a body returns, and what the model is told. */
const SAYABLE: readonly (readonly [() => unknown, string])[] = [
  [() => undefined, ""],
  [() => "", ""],
  [() => null, "null"],
  [() => false, "false"],
  [() => 0, "0"],
  [() => -0, "0"],
  [() => 10n, "10"],
  [() => ({ n: 10n }), '{"n":"10"}'],
  [() => Number.NaN, "null"],
  [() => [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY], "[null,null,null]"],
  [
    () =>
      new Map<unknown, unknown>([
        ["k", new Set([1])],
        [{ o: 1 }, 2n],
      ]),
    '[["k",[1]],[{"o":1},"2"]]',
  ],
  [() => new Set(["a", "b"]), '["a","b"]'],
  [() => new Date(0), "1970-01-01T00:00:00.000Z"],
  [() => ({ at: new Date(0) }), '{"at":"1970-01-01T00:00:00.000Z"}'],
  [() => new Date(Number.NaN), "null"],
  [() => Buffer.from("bytes"), "Ynl0ZXM="],
  [() => new Uint8Array([1, 2, 3]).subarray(1), "AgM="],
  [() => ({ raw: new Uint8Array([255]).buffer }), '{"raw":"/w=="}'],
  // biome-ignore lint/suspicious/noSparseArray: a hole is what is tried.
  [() => [1, , 3], "[1,null,3]"],
  [() => ({ f: throws, s: Symbol("s"), u: undefined, kept: 1 }), '{"kept":1}'],
  [() => [throws, Symbol("s"), undefined], "[null,null,null]"],
  [() => new Account(), '{"owner":"ann"}'],
  [() => new Error("kept"), '{"name":"Error","message":"kept"}'],
  [() => Object.assign(new TypeError("bare"), { token: "s3cret" }), '{"name":"TypeError","message":"bare"}'],
  [() => ({ toJSON: () => "its own form" }), "its own form"],
  [() => "half \ud83d", "half \ufffd"],
  [() => ({ "key \ud83d": "half \ude00" }), '{"key \ufffd":"half \ufffd"}'],
  [() => JSON.parse('{"__proto__":{"polluted":1}}'), '{"__proto__":{"polluted":1}}'],
  [() => Object.create(null), "{}"],
  [() => deep(200), `${'{"in":'.repeat(200)}"bottom"${"}".repeat(200)}`],
];

/** What a body returns that nothing can be said of, and why. */
const UNSAYABLE: readonly (readonly [() => unknown, string])[] = [
  [() => circle, "[0].circle: circular: it contains itself"],
  [() => throws, "a function has no JSON"],
  [() => Symbol("s"), "a symbol has no JSON"],
  [() => ({ toJSON: throws }), "not for you"],
  [() => ({ in: { toJSON: throws } }), "in: not for you"],
  [() => Object.defineProperty({}, "x", { get: throws, enumerable: true }), "x: not for you"],
  [() => [new Proxy({}, { ownKeys: throws })], "[0]: not for you"],
  [() => [new Proxy([], { get: throws })], "[0]: not for you"],
  [() => [Promise.resolve(1)], "[0]: a promise; await it first"],
  [() => deep(100_000), "nested more than 256 deep"],
  [() => new Array(2 ** 32 - 1), "too many values: an array of 4294967295"],
];

/** `give`, whose call `no` returns the value of that number. */
function giving(world: ReportWorld, values: readonly (() => unknown)[]) {
  const asked = calls(...values.map((_, no) => ({ id: `c${no}`, name: "give", args: { no } })));
  return { asked, give: world.tool("give", async ({ no }) => values[no as number]?.()) };
}

describe("Semantics 2.6: whatever a body returns is its own call's result, in text that any vendor takes", () => {
  report(
    "C19: each value that can be said has its one form, in call order",
    { starts: { give: SAYABLE.length } },
    async (world) => {
      const { asked, give } = giving(
        world,
        SAYABLE.map(([make]) => make),
      );
      const run = await world.finish(world.run(world.runner(new ScriptedProvider(asked, say("ok")), [give])));
      expect(answers(run)).toEqual(SAYABLE.map(([, text], no) => `c${no}: ${text}`));
      expect(run.results.map(({ status, mayHaveLanded }) => ({ status, mayHaveLanded }))).toEqual(
        SAYABLE.map(() => ({ status: "ok", mayHaveLanded: false })),
      );
      for (const { value } of run.results) expect(JSON.parse(JSON.stringify(value))).toEqual(value);
      expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    },
  );

  report(
    "C19: each value that cannot be said is an error that names tool and place, and the calls beside it do not notice",
    { starts: { give: 2 * UNSAYABLE.length } },
    async (world) => {
      const bodies = UNSAYABLE.flatMap(([make], no) => [make, () => `good ${no}`]);
      const { asked, give } = giving(world, bodies);
      const run = await world.finish(world.run(world.runner(new ScriptedProvider(asked, say("ok")), [give])));
      expect(run.results.map(({ status, content }) => `${status}: ${content}`)).toEqual(
        UNSAYABLE.flatMap((_, no) => [
          expect.stringMatching(
            /^error: give: what it returned cannot become a result: .*The side effect may have landed\.$/,
          ),
          `ok: good ${no}`,
        ]),
      );
      for (const [no, [, why]] of UNSAYABLE.entries()) expect(run.results[2 * no]?.content).toContain(why);
    },
  );

  report(
    "C19: what a journal keeps of each result is the same text, so that a resumed run is shown no other",
    { starts: { give: SAYABLE.length + UNSAYABLE.length } },
    async (world) => {
      const { asked, give } = giving(
        world,
        [...SAYABLE, ...UNSAYABLE].map(([make]) => make),
      );
      const waits = calls(...asked.toolCalls, { id: "w", name: "wait", args: {} });
      const planner = agent("planner");
      const runner = world.runner(new ScriptedProvider(waits, say("ok")), [give, world.tool("wait")], {
        agents: [planner],
        journal: new MemoryJournal(),
      });
      const first = await world.finish(world.run(runner, planner));
      const run = await world.finish(
        world.keep(runner.resume(first.id, { decisions: about(first, { result: null }) }) as Promise<Run>),
      );
      const told = first.results.map(({ callId, content }) => `${callId}: ${content}`);
      expect(told).toHaveLength(asked.toolCalls.length);
      expect(answers(run)).toEqual([...told, "w: null"]);
    },
  );
});
