import { defineTool } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { type ReportWorld, report } from "./report-world.ts";

/** Arguments that are no JSON object: the vendor's text, and what that text is called. */
const NO_JSON = [
  '{"path": "/data/x"',
  '{"path":"/a"}{"path":"/b"}',
  '{"path":"/a"} and more',
  "{'path':'/a'}",
  '{path:"/a"}',
  '{"path":"/a",}',
  '{"path":NaN}',
  '```json\n{"path":"/a"}\n```',
  '\ufeff{"path":"/a"}',
  "undefined",
  "/a",
];
const NO_OBJECT = ["[]", '[{"path":"/a"}]', "null", '"str"', '"{\\"path\\":\\"/a\\"}"', "7", "true"];
const VALUES: readonly unknown[] = [[], [{ path: "/a" }], 7, true];
/** Arguments that the schema refuses, and where. */
const MISFITS = [
  [{}, /path/],
  ["{}", /path/],
  [{ path: 7 }, /path: /],
  ['{"path":null}', /path: /],
  [{ path: "/a", force: true }, /force/],
  [{ path: [], force: true }, /path: .*force|force.*path: /],
  [JSON.parse('{"path":"/a","__proto__":{}}'), /__proto__/],
] as const;

/** `del`, which takes one path, must be approved, and tells what it did; `asked` is who was asked about which call. */
function deleting(world: ReportWorld) {
  const asked: string[] = [];
  const { name, description, run } = world.tool("del", ({ path }) => `deleted ${path}`);
  const del = defineTool({
    name,
    description,
    input: {
      type: "object",
      properties: { path: { type: "string" } },
      required: ["path"],
      additionalProperties: false,
    },
    requiresApproval: ({ path }) => asked.push(`predicate ${path}`) > 0,
    parallelSafe: ({ path }) => asked.push(`parallelSafe ${path}`) > 0,
    ...(run && { run }),
  });
  const options = {
    approver: ({ args }: { args: unknown }) => {
      asked.push(`approver ${(args as { path: string }).path}`);
      return { approve: true } as const;
    },
    guardrails: [
      {
        name: "g",
        before: ({ args }: { args: unknown }) => void asked.push(`guardrail ${(args as { path: string }).path}`),
      },
    ],
  };
  return { asked, del, options };
}

const good = (id: string) => ({ id, name: "del", args: { path: id } });

describe("Semantics 2.5: arguments that cannot be used are their own call's error, never {} and never run", () => {
  for (const [what, bad] of [
    ["text that is not JSON", NO_JSON],
    ["JSON text of what is no object", NO_OBJECT],
    ["values that are no object", VALUES],
  ] as const) {
    report(
      `C20: ${what} is told to the model as it came, and the calls beside it run`,
      { starts: { del: bad.length + 1 } },
      async (world) => {
        const { asked, del, options } = deleting(world);
        const batch = calls(...bad.flatMap((args, no) => [{ id: `bad${no}`, name: "del", args }, good(`good${no}`)]));
        const script = new ScriptedProvider(batch, calls(good("again")), say("ok"));
        const run = await world.finish(world.run(world.runner(script, [del], options)));
        expect(run.status).toBe("completed");
        const why = /^error: del: bad arguments: expected a JSON object, got ./;
        expect(run.results.map(({ status, content }) => `${status}: ${content}`)).toEqual([
          ...bad.flatMap((_, no) => [expect.stringMatching(why), `ok: deleted good${no}`]),
          "ok: deleted again",
        ]);
        expect(run.results.every(({ mayHaveLanded }) => !mayHaveLanded)).toBe(true);
        expect(world.requests[1]?.messages[1]).toMatchObject({
          toolCalls: bad.flatMap((args, no) => [
            { id: `bad${no}`, args: { unparsed_arguments: typeof args === "string" ? args : JSON.stringify(args) } },
            { id: `good${no}`, args: { path: `good${no}` } },
          ]),
        });
        // Nobody is asked about a call that cannot run.
        expect(new Set(asked.filter((who) => !/ (good\d+|again)$/.test(who)))).toEqual(new Set());
        expect(asked.filter((who) => who.startsWith("approver"))).toHaveLength(bad.length + 1);
      },
    );
  }

  report(
    "C20: arguments that the schema refuses name each place, and stay in the transcript as they were",
    { starts: { del: 1 } },
    async (world) => {
      const { asked, del, options } = deleting(world);
      const batch = calls(...MISFITS.map(([args], no) => ({ id: `bad${no}`, name: "del", args })), good("good"));
      const run = await world.finish(world.run(world.runner(new ScriptedProvider(batch, say("ok")), [del], options)));
      for (const [no, [args, where]] of MISFITS.entries()) {
        const { status, content, error } = run.results[no] as (typeof run.results)[number];
        expect(`${status}: ${content}`).toMatch(/^error: del: bad arguments: ./);
        expect(content).toMatch(where);
        expect(error?.code).toBe("TOOL_INPUT");
        const kept = (run.messages[1] as { toolCalls: { args: unknown }[] }).toolCalls[no]?.args;
        expect(kept).toEqual(typeof args === "string" ? JSON.parse(args) : args);
      }
      expect(run.results.at(-1)).toMatchObject({ status: "ok", content: "deleted good" });
      expect(new Set(asked.map((who) => who.split(" ")[1]))).toEqual(new Set(["good"]));
    },
  );

  report(
    "C20: text without an end is shown shortened, and one nested without an end is an error as any other",
    { starts: { del: 1 } },
    async (world) => {
      const { del, options } = deleting(world);
      const long = `{"path":"${"x".repeat(5_000_000)}`;
      const deep = `${'{"path":'.repeat(100_000)}1${"}".repeat(100_000)}`;
      const batch = calls(...[long, deep].map((args, no) => ({ id: `bad${no}`, name: "del", args })), good("good"));
      const run = await world.finish(world.run(world.runner(new ScriptedProvider(batch, say("ok")), [del], options)));
      expect(run.results.map(({ status }) => status)).toEqual(["error", "error", "ok"]);
      expect(JSON.stringify(run.messages).length).toBeLessThan(10_000);
    },
  );
});
