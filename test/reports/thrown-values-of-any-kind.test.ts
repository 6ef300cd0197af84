import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { type ReportWorld, report } from "./report-world.ts";

const throws = (thrown: unknown) => (): never => {
  throw thrown;
};
const boom = throws(new Error("trap"));

const circular = Object.assign(new Error("circular"), { cause: undefined as unknown });
circular.cause = circular;

function withStack(): Error {
  return Object.assign(new Error("with baggage"), {
    stack: "at s3cret.js:1",
    config: { token: "s3cret" },
    cause: "s3cret",
  });
}

function endless(): number {
  return endless() + 1;
}

/** What a body throws, and what the model is told after `work failed: `. */
const THROWN: readonly (readonly [() => unknown, string])[] = [
  [() => undefined, "it threw undefined"],
  [() => null, "it threw null"],
  [() => "", "it threw an empty text"],
  [() => "plain", "plain"],
  [() => 42, "it threw 42"],
  [() => 0n, "it threw 0n"],
  [() => false, "it threw false"],
  [() => Symbol("s"), "it threw Symbol(s)"],
  [() => boom, "it threw a function"],
  [() => ({ code: 1 }), 'it threw {"code":1}'],
  [() => ({}), "it threw an empty object"],
  [() => Object.create(null), "it threw an empty object"],
  [() => [new Error("in an array")], "it threw an array of 1"],
  [() => new Error(""), "Error without a message"],
  [() => new Error("half \ud83d"), "half \ufffd"],
  [() => Object.freeze(new Error("frozen")), "frozen"],
  [() => Object.seal(new TypeError("sealed")), "sealed"],
  [() => withStack(), "with baggage"],
  [() => circular, "circular"],
  [() => new AggregateError([new Error("one"), "two", undefined], "both"), "both: one; two; undefined"],
  [() => new DOMException("its own", "AbortError"), "its own"],
  [() => new DOMException("its own", "TimeoutError"), "its own"],
  [
    () => Object.defineProperty(new Error("x"), "message", { get: boom }),
    "it threw an instance of Error whose message cannot be read",
  ],
  [() => new Proxy(new Error("x"), { get: boom }), "it threw an instance of Error whose message cannot be read"],
  [() => ({ toString: boom, [Symbol.toPrimitive]: boom }), 'it threw an object with "toString"'],
  [() => Object.assign(new Error("x"), { message: { not: "a text" } }), "Error without a message"],
];

/** Ways to throw, now and later. */
const WAYS: readonly (readonly [string, (make: () => unknown) => unknown])[] = [
  ["at once", (make) => throws(make())()],
  ["later", async (make) => throws(make())()],
  ["by a promise that rejects", (make) => Promise.reject(make())],
  [
    "by a promise that rejects, then throws",
    (make) =>
      new Promise((_, reject) => {
        reject(make());
        boom();
      }),
  ],
];

async function play(world: ReportWorld, bodies: readonly (() => unknown)[]) {
  const work = world.tool("work", ({ no }) => bodies[no as number]?.());
  const asked = calls(...bodies.map((_, no) => ({ work: { no } })));
  return world.finish(world.run(world.runner(new ScriptedProvider(asked, say("ok")), [work])));
}

describe("Semantics 2.7: whatever a body throws is its own call's error, in words that name the tool", () => {
  for (const [when, way] of WAYS) {
    report(
      `C40: thrown ${when}, each value is told in its own words, and the calls beside it do not notice`,
      { starts: { work: 2 * THROWN.length } },
      async (world) => {
        const run = await play(
          world,
          THROWN.flatMap(([make]) => [() => way(make), () => "good"]),
        );
        expect(run.results.map(({ status, content }) => `${status}: ${content}`)).toEqual(
          THROWN.flatMap(([, words]) => [`error: work failed: ${words}`, "ok: good"]),
        );
        expect(run.results.every(({ mayHaveLanded }) => !mayHaveLanded)).toBe(true);
        expect(JSON.stringify([world.requests, world.heard])).not.toContain("s3cret");
      },
    );
  }

  report(
    "C40: what was thrown is kept as it was, untouched, also when one error is thrown by several calls",
    { starts: { work: 3 } },
    async (world) => {
      const thrown = Object.freeze(new Error("shared"));
      const run = await play(world, [throws(thrown), async () => throws(thrown)(), () => Promise.reject(thrown)]);
      expect(run.results.map(({ content }) => content)).toEqual(Array(3).fill("work failed: shared"));
      for (const { error } of run.results) {
        expect(error).toMatchObject({ code: "TOOL_FAILED" });
        expect(error?.cause).toBe(thrown);
      }
      expect(Reflect.ownKeys(thrown).sort()).toEqual(["message", "stack"]);
    },
  );

  report(
    "C40: a body without an end to its stack fails alone, with the host's own words",
    { starts: { work: 2 } },
    async (world) => {
      const [first, second] = (await play(world, [endless, () => "good"])).results;
      expect(first).toMatchObject({ status: "error", content: "work failed: Maximum call stack size exceeded" });
      expect(second).toMatchObject({ status: "ok", content: "good" });
    },
  );
});
