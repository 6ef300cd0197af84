import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseArguments } from "../../src/tools/parse-arguments.ts";
import { hostileValue } from "./hostile-value.ts";

describe("Semantics 2.5: arguments are an object or its JSON text, and never made into one", () => {
  it.each([
    ["missing", undefined],
    ["null, as some vendors send none", null],
    ["empty", ""],
    ["blank", " \n\t "],
    ["the text of an empty object", "{}"],
    ["an empty object", {}],
  ])("%s is {}", (_title, args) => {
    expect(parseArguments(args)).toEqual({ ok: true, input: {} });
  });

  it("text is always parsed, and an object is itself", () => {
    expect(parseArguments('{"q":"Kyoto","n":[1]}')).toEqual({ ok: true, input: { q: "Kyoto", n: [1] } });
    expect(parseArguments({ q: "{}", n: undefined })).toEqual({ ok: true, input: { q: "{}" } });
  });

  it.each<[string, unknown, string, Record<string, unknown>]>([
    ["half an object", '{"path": "/data/x"', "not JSON", { unparsed_arguments: '{"path": "/data/x"' }],
    ["two objects", '{"p":1}{"p":2}', "not JSON", { unparsed_arguments: '{"p":1}{"p":2}' }],
    ["the text of an array", "[1]", "an array of 1", { unparsed_arguments: "[1]" }],
    ["the text null", "null", "got null", { unparsed_arguments: "null" }],
    ["the text of a text", '"{}"', 'got "{}"', { unparsed_arguments: '"{}"' }],
    ["an array", [1, 2], "an array of 2", { unparsed_arguments: "[1,2]" }],
    ["a number", 5, "got 5", { unparsed_arguments: "5" }],
    ["a boolean", true, "got true", { unparsed_arguments: "true" }],
    ["a Date", new Date(0), "1970", { unparsed_arguments: '"1970-01-01T00:00:00.000Z"' }],
    ["a function", () => 1, "a function", {}],
    [
      "a getter that throws",
      {
        get q() {
          throw new Error("boom");
        },
      },
      "q: boom",
      {},
    ],
  ])("%s is a problem", (_title, args, problem, kept) => {
    const parsed = parseArguments(args);
    expect(parsed).toEqual({ ok: false, problem: expect.stringContaining(problem), kept });
  });

  it("a circle and endless nesting are problems", () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(parseArguments(circle)).toMatchObject({ ok: false, problem: expect.stringContaining("self: circular") });
    const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect(parseArguments(deep)).toMatchObject({
      ok: false,
      problem: expect.stringContaining("nested more than 256 deep"),
    });
  });

  it("a key named __proto__ is data", () => {
    const parsed = parseArguments('{"__proto__":{"admin":true},"constructor":{"prototype":1}}');
    const input = (parsed as { input: Record<string, unknown> }).input;
    expect(Object.keys(input)).toEqual(["__proto__", "constructor"]);
    expect(input.admin).toBeUndefined();
    expect(Object.getPrototypeOf(input)).toBe(Object.prototype);
  });

  it("what is kept of text that could not be read is bounded and well-formed", () => {
    const parsed = parseArguments(`{"a":"${"👩".repeat(100_000)}`);
    const kept = (parsed as unknown as { kept: { unparsed_arguments: string } }).kept.unparsed_arguments;
    expect(kept.length).toBeLessThan(2_100);
    expect(kept).toMatch(/ \[\d+ more characters\]$/);
    expect(kept).not.toMatch(/\p{Surrogate}/u);
  });

  it("whatever comes, it is an object of plain JSON or a problem with a form for the transcript", () => {
    fc.assert(
      fc.property(fc.oneof(hostileValue(), fc.string(), fc.json()), (given) => {
        const parsed = parseArguments(typeof given === "function" ? given() : given);
        const shown = parsed.ok ? parsed.input : parsed.kept;
        expect(Array.isArray(shown)).toBe(false);
        expect(typeof shown).toBe("object");
        expect(JSON.parse(JSON.stringify(shown))).toEqual(shown);
        if (!parsed.ok) expect(parsed.problem.length).toBeLessThan(3_000);
      }),
      { numRuns: 1_000 },
    );
  });
});
