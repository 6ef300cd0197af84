import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { ConfigurationError, defineTool, ToolRegistry } from "lanekeeper";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const plain = { type: "object", properties: { q: { type: "string" } }, required: ["q"] } as const;
const base = { name: "search", description: "Look a place up." };
const refused = (options: unknown): string => {
  try {
    defineTool(options as never);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as Error).message;
  }
  return "accepted";
};

describe("Semantics 2.5, 7.5: a tool is declared once, checked at the door, and checks its arguments", () => {
  it.each([
    ["zod", z.object({ q: z.string() })],
    ["valibot", toStandardJsonSchema(v.object({ q: v.string() }))],
    ["arktype", type({ q: "string" })],
    ["plain JSON Schema", plain],
  ])("gives an object schema and checks arguments with %s", async (_library, input) => {
    const tool = defineTool({ ...base, input, run: () => "" });
    expect(tool.inputSchema).toMatchObject({ type: "object", properties: { q: { type: "string" } }, required: ["q"] });
    expect(Object.isFrozen(tool.inputSchema)).toBe(true);
    expect(await tool.validate({ q: "x" })).toMatchObject({ ok: true, args: { q: "x" } });
    const bad = await tool.validate({ q: 1 });
    expect(bad.ok ? [] : bad.problems.map(({ path }) => path)).toEqual(["q"]);
  });

  it("models are shown the schema of the input, bodies get the output", async () => {
    const tool = defineTool({ ...base, input: z.object({ n: z.string().transform(Number) }), run: () => "" });
    expect(tool.inputSchema).toMatchObject({ properties: { n: { type: "string" } } });
    expect(await tool.validate({ n: "7" })).toMatchObject({ ok: true, args: { n: 7 } });
  });

  it("an input that gives no JSON Schema needs an override", () => {
    const input = v.object({ q: v.string() });
    expect(refused({ ...base, input, run: () => "" })).toMatch(/inputSchema/);
    expect(defineTool({ ...base, input, inputSchema: plain, run: () => "" }).inputSchema).toEqual(plain);
  });

  it("defaults are the safe and usual ones", () => {
    const tool = defineTool({ ...base, input: plain, run: () => "" });
    expect(tool).toMatchObject({ idempotent: false, parallelSafe: true, requiresApproval: false });
    expect([tool.retry, tool.resource, tool.abandonSeconds]).toEqual([undefined, undefined, undefined]);
  });

  it("refuses what could never work and says where", () => {
    const whole = { ...base, input: plain, run: () => "" };
    expect(refused({ ...whole, parallelsafe: false })).toMatch(/parallelsafe: unknown option/);
    for (const name of ["", "a b", "x".repeat(65), 7, undefined]) expect(refused({ ...whole, name })).toMatch(/name/);
    expect(refused({ ...whole, idempotent: "yes" })).toMatch(/idempotent/);
    expect(refused({ ...whole, run: "x" })).toMatch(/run/);
    expect(refused({ ...whole, input: { type: "array" } })).toMatch(/object/);
    expect(refused({ ...whole, input: { type: "object", properties: { q: { type: "strnig" } } } })).toMatch(/strnig/);
  });

  it("retries need idempotent: true and whole attempts", () => {
    const whole = { ...base, input: plain, run: () => "" };
    expect(refused({ ...whole, retry: { attempts: 3 } })).toMatch(/idempotent/);
    expect(refused({ ...whole, idempotent: true, retry: { attempts: 0 } })).toMatch(/retry\.attempts/);
    expect(refused({ ...whole, idempotent: true, retry: { attempts: 2, backoff: 1 } })).toMatch(
      /retry\.backoff: unknown/,
    );
    expect(defineTool({ ...whole, idempotent: true, retry: { attempts: 3 } }).retry).toMatchObject({ attempts: 3 });
  });

  it("a registry knows its tools by name and refuses a name twice and what is no tool", () => {
    const search = defineTool({ ...base, input: plain, run: () => "" });
    const tools = new ToolRegistry([search]);
    expect([tools.names(), tools.get("search"), tools.get("constructor"), tools.get("__proto__")]).toEqual([
      ["search"],
      search,
      undefined,
      undefined,
    ]);
    expect(tools.schemas()).toEqual([{ ...base, inputSchema: plain }]);
    expect(() => new ToolRegistry([search, search])).toThrow(/tools\[1\].*"search".*tools\[0\]/);
    expect(() => new ToolRegistry([{ name: "x" } as never])).toThrow(/tools\[0\].*defineTool/);
  });
});
