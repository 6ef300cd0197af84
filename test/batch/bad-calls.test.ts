import { defineTool, type ToolCall } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { BatchWorld, lines, tool } from "./batch-world.ts";

const ran: unknown[] = [];
const echo = tool("echo", { run: (args) => ran.push(args) && JSON.stringify(args) });
const trip = defineTool({
  name: "trip",
  description: "",
  input: z.object({ nights: z.number(), stops: z.array(z.object({ city: z.string() })) }),
  run: () => "booked",
});
const asked: string[] = [];

async function linesOf(calls: readonly unknown[]): Promise<string[]> {
  ran.length = 0;
  asked.length = 0;
  const world = new BatchWorld();
  const batch = await world.start(calls as ToolCall[], {
    tools: [echo, trip],
    guardrails: [{ name: "g", before: ({ id }) => void asked.push(id) }],
  });
  return lines(await world.finished(batch));
}

describe("Semantics 2.5: a bad call is a failure of its own, and its siblings run", () => {
  it("a tool that is not there is unknown, whatever its name; the error says which are", async () => {
    const names = ["constructor", "__proto__", "toString", "ECHO", "echo ", "", undefined, null, 7, {}, ["echo"]];
    const calls = names.map((name, at) => ({ id: `c${at}`, name, args: {} }));
    const told = await linesOf([...calls, { id: "good", name: "echo", args: {} }]);
    expect(told.slice(0, 2)).toEqual([
      'c0 error: no tool is named "constructor"; the tools are "echo", "trip"',
      'c1 error: no tool is named "__proto__"; the tools are "echo", "trip"',
    ]);
    for (const line of told.slice(0, -1))
      expect(line).toMatch(/^c\d+ error: no tool is named .*; the tools are "echo", "trip"$/);
    expect(told.at(-1)).toBe("good ok: {}");
    expect(asked).toEqual(["good"]);
  });

  it("arguments are an object or its JSON text; what is neither is never {} and never runs", async () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const bad = ['{"path":"/data/x"', '{"p":1}{"p":2}', "[]", "null", '"text"', "7", [], 7, true, Symbol("s"), circle];
    const told = await linesOf([
      ...bad.map((args, at) => ({ id: `c${at}`, name: "echo", args })),
      { id: "good", name: "echo", args: '{"q":"x"}' },
    ]);
    for (const line of told.slice(0, -1))
      expect(line).toMatch(/^c\d+ error: echo: bad arguments: expected a JSON object, got /);
    expect(told.at(-1)).toBe('good ok: {"q":"x"}');
    expect(ran).toEqual([{ q: "x" }]);
    expect(asked).toEqual(["good"]);
  });

  it("missing, empty and blank arguments are {}", async () => {
    const told = await linesOf(
      [undefined, null, "", " \n", {}].map((args, at) => ({ id: `c${at}`, name: "echo", args })),
    );
    expect(told).toEqual(["c0 ok: {}", "c1 ok: {}", "c2 ok: {}", "c3 ok: {}", "c4 ok: {}"]);
  });

  it("arguments that do not fit the schema name each path", async () => {
    const world = new BatchWorld();
    const args = { nights: "four", stops: [{ city: "Kyoto" }, { city: 1 }] };
    const batch = await world.start([{ id: "a", name: "trip", args }], { tools: [trip] });
    const [result] = await world.finished(batch);
    expect(result).toMatchObject({ status: "error", mayHaveLanded: false });
    expect(result?.error).toMatchObject({ problems: [{ path: "nights" }, { path: "stops[1].city" }] });
    expect(result?.content).toMatch(/^trip: bad arguments: nights: .*; stops\[1\]\.city: /);
  });

  it("a doubled id gets a suffix and a missing one is assigned; the first use is kept", async () => {
    const ids = ["k", "k", "", undefined, "k_2", "k", 7];
    const told = await linesOf(ids.map((id, at) => ({ id, name: "echo", args: { at } })));
    expect(told).toEqual([
      'k ok: {"at":0}',
      'k_3 ok: {"at":1}',
      'call_1_2 ok: {"at":2}',
      'call_1_3 ok: {"at":3}',
      'k_2 ok: {"at":4}',
      'k_4 ok: {"at":5}',
      'call_1_6 ok: {"at":6}',
    ]);
  });

  it("a call that throws when it is read is a bad call; what can be read of it is read once", async () => {
    let reads = 0;
    const thrower = (key: string): unknown =>
      Object.defineProperty({ id: "x", name: "echo", args: {} }, key, {
        get() {
          throw new Error("not for you");
        },
      });
    const counted = {
      id: "counted",
      name: "echo",
      get args() {
        return { reads: ++reads };
      },
    };
    expect(await linesOf([thrower("id"), thrower("name"), thrower("args"), counted])).toEqual([
      "call_1_0 ok: {}",
      'x error: no tool is named undefined; the tools are "echo", "trip"',
      "x_2 error: echo: bad arguments: expected a JSON object, got one that is not JSON: not for you",
      'counted ok: {"reads":1}',
    ]);
  });
});
