// biome-ignore-all lint/suspicious/noThenProperty: thenables are among the subjects.
import { ToolFailedError } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, tool } from "./batch-world.ts";

/** One batch with one call for each body, and a good one at the end. */
async function linesOf(bodies: readonly (() => unknown)[], maxResultBytes = 262_144): Promise<string[]> {
  const world = new BatchWorld();
  const leaks = world.leaks();
  const tools = [...bodies, () => "good"].map((run, at) => tool(`t${at}`, { run }));
  const calls = tools.map(({ name }) => ({ id: name, name, args: {} }));
  const batch = await world.start(calls, { tools, limits: { maxResultBytes } });
  const told = lines(await world.finished(batch));
  await leaks.done();
  expect(told.pop()).toBe(`t${bodies.length} ok: good`);
  return told;
}

const throws = (thrown: unknown) => (): never => {
  throw thrown;
};

describe("Semantics 2.6, 2.7: whatever a body returns or throws is the result of its own call", () => {
  it("values of every kind", async () => {
    const at = new Date(0);
    const values = [
      "text",
      undefined,
      null,
      0,
      10n,
      Number.NaN,
      at,
      new Map([["k", 1]]),
      new Set([1]),
      new Error("kept"),
    ];
    expect(await linesOf(values.map((value) => () => value))).toEqual([
      "t0 ok: text",
      "t1 ok: ",
      "t2 ok: null",
      "t3 ok: 0",
      "t4 ok: 10",
      "t5 ok: null",
      "t6 ok: 1970-01-01T00:00:00.000Z",
      't7 ok: [["k",1]]',
      "t8 ok: [1]",
      expect.stringContaining("kept"),
    ]);
  });

  it("what cannot be shown is an error that says so; the body returned, so that its effect may be there", async () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const hostile = [
      circle,
      { toJSON: throws(new Error("no JSON")) },
      {
        get x() {
          throw new Error("no getter");
        },
      },
      {
        get then() {
          throw new Error("no then");
        },
      },
      { then: throws(undefined) },
      () => 1,
      Symbol("s"),
    ];
    const told = await linesOf(hostile.map((value) => () => value));
    for (const line of [...told.slice(0, 3), ...told.slice(5)]) {
      expect(line).toMatch(
        /^t\d error: t\d: what it returned cannot become a result: .* The side effect may have landed\. \(may have landed\)$/,
      );
    }
    expect(told.slice(3, 5)).toEqual(["t3 error: t3 failed: no then", "t4 error: t4 failed: it threw undefined"]);
  });

  it("thrown values of every kind, at once and later, are taken at their word", async () => {
    const unreadable = Object.defineProperty(new Error("x"), "message", { get: throws(new Error("no message")) });
    const thrown = [
      new Error("plain"),
      Object.freeze(new Error("frozen")),
      "text",
      undefined,
      null,
      new AggregateError([new Error("one"), new Error("two")], "both"),
      new DOMException("own", "AbortError"),
      new DOMException("own", "TimeoutError"),
      unreadable,
    ];
    const texts = ["plain", "frozen", "text", "it threw undefined", "it threw null", "both: one; two", "own", "own"];
    const expected = texts.map((text, at) => `t${at} error: t${at} failed: ${text}`);
    expect((await linesOf(thrown.map(throws))).slice(0, -1)).toEqual(expected);
    const later = await linesOf(thrown.map((value) => () => Promise.reject(value)));
    expect(later.slice(0, -1)).toEqual(expected);
    expect(later.at(-1)).toMatch(/^t8 error: t8 failed: .*cannot be read$/);
  });

  it("a body that says its side effect may have landed is believed", async () => {
    expect(await linesOf([throws(new ToolFailedError("the line went dead", { mayHaveLanded: true }))])).toEqual([
      "t0 error: t0 failed: the line went dead. The side effect may have landed. (may have landed)",
    ]);
  });

  it("a long result is cut for the model and kept whole", async () => {
    const world = new BatchWorld();
    const long = "é".repeat(1_000);
    const tools = [tool("long", { run: () => long })];
    const batch = await world.start("a:long", { tools, limits: { maxResultBytes: 100 } });
    const [result] = await world.finished(batch);
    expect(result?.value).toBe(long);
    expect(result?.content).toMatch(/^é+… \[cut: the first \d+ of 1000 characters\]$/);
    expect(Buffer.byteLength(result?.content ?? "")).toBeLessThanOrEqual(100);
  });
});
