import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LanekeeperError } from "../../src/base/errors.ts";
import { fromThrown } from "../../src/tools/thrown.ts";
import { ToolFailedError, ToolTimedOutError } from "../../src/tools/tool-errors.ts";
import { hostileValue } from "./hostile-value.ts";

const message = (thrown: unknown): string => fromThrown("booking", thrown).message;

const throwing = (key: string, target: object): object =>
  Object.defineProperty(target, key, {
    get() {
      throw new Error("hidden");
    },
  });

class Odd {
  toString(): string {
    throw new Error("no text");
  }
}

const around: Error = new Error("around");
around.cause = around;

describe("Semantics 2.7: whatever a body throws becomes its call's error", () => {
  it.each<[string, unknown, string]>([
    ["an Error", new Error("no rooms left"), "booking failed: no rooms left"],
    ["a text", "plain", "booking failed: plain"],
    ["an empty text", "", "booking failed: it threw an empty text"],
    ["undefined", undefined, "booking failed: it threw undefined"],
    ["null", null, "booking failed: it threw null"],
    ["a number", 42, "booking failed: it threw 42"],
    ["a symbol", Symbol("why"), "booking failed: it threw Symbol(why)"],
    ["a plain object", { code: 1 }, 'booking failed: it threw {"code":1}'],
    ["something like an Error", { message: "like one", code: 7 }, "booking failed: like one"],
    ["an Error without a message", new RangeError(), "booking failed: RangeError without a message"],
    ["a frozen Error", Object.freeze(new Error("ice")), "booking failed: ice"],
    ["an Error in a circle", around, "booking failed: around"],
    [
      "an AggregateError",
      new AggregateError([new Error("a"), "b", 3], "all failed"),
      "booking failed: all failed: a; b; 3",
    ],
    ["an AggregateError without a message", new AggregateError([new Error("a")]), "booking failed: a"],
    [
      "a message that throws",
      throwing("message", new Error("x")),
      "booking failed: it threw an instance of Error whose message cannot be read",
    ],
    ["a class whose toString throws", new Odd(), "booking failed: it threw an instance of Odd"],
    ["a function", () => 1, "booking failed: it threw a function"],
    ["a body's own AbortError", new DOMException("stop", "AbortError"), "booking failed: stop"],
  ])("%s", (_title, thrown, expected) => {
    const error = fromThrown("booking", thrown);
    expect(error.message).toBe(expected);
    expect(error).toBeInstanceOf(ToolFailedError);
    expect(error.tool).toBe("booking");
    expect(error.cause).toBe(thrown);
    expect(error.mayHaveLanded).toBe(false);
  });

  it("many and nested parts are told within bounds", () => {
    const deep = (depth: number): Error =>
      depth === 0
        ? new Error("end")
        : new AggregateError(
            Array.from({ length: 50 }, () => deep(depth - 1)),
            "more",
          );
    expect(message(deep(2))).toContain("and 40 more");
    const circle = new AggregateError([], "circle");
    circle.errors.push(circle, circle);
    expect(message(circle).length).toBeLessThan(2_100);
  });

  it("a stack is not part of the message, and a long message is cut", () => {
    expect(message(new Error("short"))).not.toContain("at ");
    expect(message(new Error("👩".repeat(50_000))).length).toBeLessThan(2_100);
    expect(message(new Error("👩".repeat(50_000)))).not.toMatch(/\p{Surrogate}/u);
  });

  it("a ToolFailedError of the body's own carries mayHaveLanded over", () => {
    const lost = new ToolFailedError("connection lost", { mayHaveLanded: true, cause: "ECONNRESET" });
    const error = fromThrown("booking", lost);
    expect(error.message).toBe("booking failed: connection lost");
    expect(error.mayHaveLanded).toBe(true);
    expect(error.toJSON()).toMatchObject({ code: "TOOL_FAILED", tool: "booking", mayHaveLanded: true });
  });

  it("another error of ours, and a stranger with the same field, are taken as thrown", () => {
    const error = fromThrown("booking", new ToolTimedOutError("inner", 3));
    expect(error.code).toBe("TOOL_FAILED");
    expect(error.cause).toBeInstanceOf(ToolTimedOutError);
    expect(fromThrown("booking", { message: "x", mayHaveLanded: true }).mayHaveLanded).toBe(false);
  });

  it("whatever is thrown, the error has a bounded text that names the tool, and its JSON is plain", () => {
    fc.assert(
      fc.property(hostileValue(), (make) => {
        const error = fromThrown("booking", make());
        expect(LanekeeperError.is(error)).toBe(true);
        expect(error.message).toMatch(/^booking failed: ./s);
        expect(error.message.length).toBeLessThan(2_100);
        expect(error.message).not.toMatch(/\p{Surrogate}/u);
      }),
      { numRuns: 1_000 },
    );
  });
});
