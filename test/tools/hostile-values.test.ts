import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlainJsonError, plainJson } from "../../src/base/plain-json.ts";
import { toolOutput } from "../../src/tools/result-text.ts";
import { ToolOutputError } from "../../src/tools/tool-errors.ts";
import { hostileValue } from "./hostile-value.ts";

function failure(value: unknown): string {
  try {
    toolOutput("search", value);
  } catch (error) {
    expect(error).toBeInstanceOf(ToolOutputError);
    return (error as Error).message;
  }
  return "no failure";
}

const circle: Record<string, unknown> = { list: [] };
(circle.list as unknown[]).push({ back: circle });

function bottomless(): object {
  return new Proxy(
    {},
    {
      ownKeys: () => ["a"],
      getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
      get: (_t, key) => (key === "a" ? bottomless() : undefined),
    },
  );
}

function endlessPrototypes(): object {
  return new Proxy({}, { getPrototypeOf: () => endlessPrototypes() });
}

describe("Semantics 2.6: a circular, throwing or hostile value is an error of its call that says so", () => {
  it.each<[string, unknown, string]>([
    ["a circle", circle, "list[0].back: circular: it contains itself"],
    ["a Map in itself", ((map) => map.set("me", map))(new Map<string, unknown>()), "circular"],
    [
      "a toJSON that wraps its object again",
      {
        toJSON() {
          return { again: this };
        },
      },
      "again: circular",
    ],
    [
      "a toJSON that throws",
      {
        a: [
          {
            toJSON() {
              throw new Error("no JSON today");
            },
          },
        ],
      },
      "a[0]: no JSON today",
    ],
    [
      "a getter that throws",
      {
        a: {
          get b() {
            throw new Error("boom");
          },
        },
      },
      "a.b: boom",
    ],
    [
      "a proxy that throws",
      {
        p: new Proxy(
          {},
          {
            ownKeys() {
              throw new Error("trap");
            },
          },
        ),
      },
      "p: trap",
    ],
    [
      "a revoked proxy",
      ((revocable) => {
        revocable.revoke();
        return [revocable.proxy];
      })(Proxy.revocable({}, {})),
      "[0]: ",
    ],
    [
      "a proxy that answers everything",
      { x: new Proxy(() => {}, { get: (_t, _k, self) => self }), y: new Proxy({}, { get: () => () => 1 }) },
      "y: a proxy that answers every property",
    ],
    ["a proxy without a bottom", bottomless(), "nested more than"],
    ["prototypes without an end", endlessPrototypes(), "chain of prototypes"],
    [
      "an Error whose message throws",
      Object.defineProperty(new Error("x"), "message", {
        get() {
          throw new Error("hidden");
        },
      }),
      "hidden",
    ],
    ["a function", () => 1, "a function has no JSON"],
    ["a symbol", Symbol("s"), "a symbol has no JSON"],
    ["a promise that nobody awaited", { later: Promise.resolve(1) }, "later: a promise; await it first"],
    [
      "an async generator",
      (async function* () {
        yield 1;
      })(),
      "collect it with for await",
    ],
    [
      "a generator",
      (function* () {
        yield 1;
      })(),
      "collect it",
    ],
    ["a stream", new ReadableStream(), "collect it with for await"],
    ["an array of a billion holes", { list: new Array(2 ** 30) }, "list: too many values"],
  ])("%s", (_title, value, expected) => {
    const message = failure(value);
    expect(message).toContain("search: ");
    expect(message).toContain(expected);
    expect(message.length).toBeLessThan(3_000);
  });

  it("a few objects that share each other and stand for 2^60 are refused and not copied", () => {
    let tower: unknown = [1];
    for (let level = 0; level < 60; level++) tower = [tower, tower];
    expect(() => plainJson(tower, { values: 10_000 })).toThrow("too many values");
  });

  it("texts that add up to more than one text can hold are refused", () => {
    const long = "x".repeat(2 ** 24);
    expect(failure(Array.from({ length: 20 }, () => long))).toContain("too much text");
  });

  it("500 is the depth that any plain JSON may have, and one more is an error", () => {
    const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));
    expect(() => plainJson(nested(500))).not.toThrow();
    expect(() => plainJson(nested(501))).toThrow(PlainJsonError);
    expect(() => plainJson(nested(100_000))).toThrow("nested more than 500 deep");
  });

  it("a getter is asked once", () => {
    let asked = 0;
    expect(
      toolOutput("t", {
        get a() {
          return ++asked;
        },
      }).value,
    ).toEqual({ a: 1 });
    expect(asked).toBe(1);
  });

  it("whatever comes, it is a result or a ToolOutputError, and bounded", () => {
    fc.assert(
      fc.property(hostileValue(), (make) => {
        try {
          const { value: kept, text } = toolOutput("t", make(), { maxResultBytes: 1_000 });
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_000);
          expect(JSON.parse(JSON.stringify(kept))).toEqual(kept);
        } catch (error) {
          expect(error).toBeInstanceOf(ToolOutputError);
          expect((error as Error).message.length).toBeLessThan(3_000);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
