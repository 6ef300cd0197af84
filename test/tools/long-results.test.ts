import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_MAX_RESULT_BYTES, toolOutput } from "../../src/tools/result-text.ts";

const bytes = (text: string): number => Buffer.byteLength(text);

describe("Semantics 2.6: a result over maxResultBytes is cut with a marker, and its value stays whole", () => {
  it("a text of exactly the limit is whole, and one byte more is cut", () => {
    expect(toolOutput("t", "é".repeat(500), { maxResultBytes: 1_000 }).text).toBe("é".repeat(500));
    expect(toolOutput("t", `${"é".repeat(500)}x`, { maxResultBytes: 1_000 }).text).toMatch(/… \[cut: /);
  });

  it("the marker says how much is shown of how much, and counts into the limit", () => {
    const { value, text } = toolOutput("t", "x".repeat(5_000), { maxResultBytes: 1_000 });
    const kept = /^(x+)… \[cut: the first (\d+) of 5000 characters\]$/.exec(text);
    expect(kept?.[1]?.length).toBe(Number(kept?.[2]));
    expect(bytes(text)).toBeLessThanOrEqual(1_000);
    expect(bytes(text)).toBeGreaterThan(990);
    expect(value).toBe("x".repeat(5_000));
  });

  it("an emoji across the cut is left out whole", () => {
    for (let limit = 200; limit < 210; limit++) {
      const { text } = toolOutput("t", "👩‍🚀".repeat(100), { maxResultBytes: limit });
      expect(text).not.toMatch(/\p{Surrogate}/u);
      expect(bytes(text)).toBeLessThanOrEqual(limit);
    }
  });

  it("an object is cut in its JSON text and whole in its value", () => {
    const list = Array.from({ length: 1_000 }, (_, index) => ({ index }));
    const { value, text } = toolOutput("t", list, { maxResultBytes: 500 });
    expect(text.startsWith('[{"index":0},{"index":1}')).toBe(true);
    expect(value).toEqual(list);
  });

  it("a limit smaller than the marker still shows half of itself", () => {
    expect(toolOutput("t", "abcdefghijklmnop", { maxResultBytes: 10 }).text).toBe(
      "abcde… [cut: the first 5 of 16 characters]",
    );
  });

  it("without a limit declared, 262,144 bytes are shown", () => {
    expect(toolOutput("t", "x".repeat(262_144)).text.length).toBe(DEFAULT_MAX_RESULT_BYTES);
    expect(bytes(toolOutput("t", "x".repeat(262_145)).text)).toBeLessThanOrEqual(262_144);
  });

  it("a text of 200 MB costs no more than a look at what is kept", () => {
    const huge = "x".repeat(200_000_000);
    let looked = 0;
    const charCodeAt = String.prototype.charCodeAt;
    String.prototype.charCodeAt = function (this: string, at: number) {
      looked++;
      return charCodeAt.call(this, at);
    };
    try {
      expect(toolOutput("t", huge).value).toBe(huge);
    } finally {
      String.prototype.charCodeAt = charCodeAt;
    }
    expect(looked).toBeLessThan(3 * DEFAULT_MAX_RESULT_BYTES);
  });

  it("any text and any limit give well-formed text that starts as the whole does", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.integer({ min: 1, max: 600 }), (whole, limit) => {
        const { text } = toolOutput("t", whole, { maxResultBytes: limit });
        if (bytes(whole) <= limit) {
          expect(text).toBe(whole);
          return;
        }
        const at = text.lastIndexOf("… [cut: ");
        expect(whole.startsWith(text.slice(0, at))).toBe(true);
        expect(bytes(text.slice(0, at))).toBeLessThanOrEqual(limit);
        if (limit >= 150) expect(bytes(text)).toBeLessThanOrEqual(limit);
        expect(text).not.toMatch(/\p{Surrogate}/u);
      }),
      { numRuns: 1_000 },
    );
  });
});
