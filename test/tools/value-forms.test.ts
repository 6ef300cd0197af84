import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainJson } from "../../src/base/plain-json.ts";
import { toolOutput } from "../../src/tools/result-text.ts";

const text = (value: unknown): string => toolOutput("t", value).text;

class Price {
  #secret = 1;
  readonly amount = 5;
  get doubled(): number {
    return this.#secret * 2;
  }
}

describe("Semantics 2.6: every kind of value that a body returns has one declared form", () => {
  it.each<[string, unknown, string]>([
    ["a string is itself", "plain", "plain"],
    ["an empty string is itself", "", ""],
    ["undefined is the empty string", undefined, ""],
    ["null is its JSON", null, "null"],
    ["false is its JSON", false, "false"],
    ["zero is its JSON", 0, "0"],
    ["negative zero is zero", -0, "0"],
    ["NaN is null", Number.NaN, "null"],
    ["infinity is null", Number.POSITIVE_INFINITY, "null"],
    ["a Date is its ISO form without quotes", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["an invalid Date is null", new Date(Number.NaN), "null"],
    ["a BigInt is its decimal text", 12345678901234567890n, "12345678901234567890"],
    ["bytes are base64", new Uint8Array([1, 2, 3]), "AQID"],
    ["a Buffer is base64 and not its toJSON", Buffer.from("hi"), "aGk="],
    ["an ArrayBuffer is base64", new Uint8Array([255]).buffer, "/w=="],
    ["a DataView is base64 of its part", new DataView(new Uint8Array([9, 1, 2, 3]).buffer, 1), "AQID"],
    [
      "a Map is its entries",
      new Map<unknown, unknown>([
        ["a", 1],
        [2, new Set(["x"])],
      ]),
      '[["a",1],[2,["x"]]]',
    ],
    ["a Set is an array", new Set([1, "b"]), '[1,"b"]'],
    ["an Error is its name and message", new TypeError("no"), '{"name":"TypeError","message":"no"}'],
    ["an object keeps its JSON members", { a: 1, b: undefined, c: () => 1, d: Symbol("x") }, '{"a":1}'],
    ["an array keeps its places", [undefined, () => 1, Symbol("x"), 2], "[null,null,null,2]"],
    // biome-ignore lint/suspicious/noSparseArray: that is the case.
    ["a sparse array has null in its holes", [1, , 3], "[1,null,3]"],
    ["a class instance is its own members", new Price(), '{"amount":5}'],
    ["an object without a prototype is an object", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ["boxed values are unboxed", [Object("s"), Object(1), Object(true), Object(5n)], '["s",1,true,"5"]'],
    ["toJSON speaks for its object", { toJSON: (key: string) => ({ key }) }, '{"key":""}'],
    ["toJSON may answer with a text", new URL("https://example.org/a"), "https://example.org/a"],
    ["what toJSON gives may be a Date", { at: { toJSON: () => new Date(0) } }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["half of a surrogate pair is U+FFFD", "a\ud800b", "a\ufffdb"],
    ["… also in members and keys", { "k\udc00": "\ud83d" }, '{"k\ufffd":"\ufffd"}'],
    [
      "nested values have the same forms",
      { d: new Date(0), n: 10n, x: Number.NaN },
      '{"d":"1970-01-01T00:00:00.000Z","n":"10","x":null}',
    ],
  ])("%s", (_title, value, expected) => {
    expect(text(value)).toBe(expected);
  });

  it("built-ins of another realm have the same forms", () => {
    const foreign: unknown = runInNewContext(
      "({ d: new Date(0), m: new Map([[1, 2]]), s: new Set([3]), e: new RangeError('far'), b: new Uint8Array([1]) })",
    );
    expect(text(foreign)).toBe(
      '{"d":"1970-01-01T00:00:00.000Z","m":[[1,2]],"s":[3],"e":{"name":"RangeError","message":"far"},"b":"AQ=="}',
    );
  });

  it("an object that two members share is no circle", () => {
    const shared = { x: 1 };
    expect(text({ a: shared, b: [shared] })).toBe('{"a":{"x":1},"b":[{"x":1}]}');
  });

  it("200 objects inside each other are fine", () => {
    let nested: unknown = "end";
    for (let depth = 0; depth < 200; depth++) nested = { nested };
    expect(text(nested)).toContain("end");
  });

  it("a key named __proto__ stays data", () => {
    const { value } = toolOutput("t", JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'));
    expect(Object.keys(value as object)).toEqual(["__proto__", "constructor"]);
    expect((value as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("the value is what JSON text would give back, and the text is its JSON", () => {
    fc.assert(
      fc.property(
        fc.anything({
          withDate: true,
          withMap: true,
          withSet: true,
          withBigInt: true,
          withTypedArray: true,
          withNullPrototype: true,
          withSparseArray: true,
        }),
        (given) => {
          const { value, text: shown } = toolOutput("t", given);
          expect(JSON.parse(JSON.stringify(value))).toEqual(value);
          expect(shown).toBe(typeof value === "string" ? value : JSON.stringify(value));
        },
      ),
      { numRuns: 500 },
    );
  });

  it("plain JSON comes out as it went in", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false } as object), (given) => {
        expect(plainJson(given)).toEqual(JSON.parse(JSON.stringify(given)));
      }),
      { numRuns: 500 },
    );
  });
});
