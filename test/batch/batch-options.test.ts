import { AgentRunner, type BatchOptions, Lanes, runBatch, ToolRegistry } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { lines, tool } from "./batch-world.ts";

const tools = [tool("x", { run: () => "ran" })];
const call = { id: "a", name: "x", args: {} };
const refused = async (calls: unknown, options: unknown): Promise<string> =>
  runBatch(calls as never, options as BatchOptions).then(
    () => "it ran",
    (error: { code?: string; message: string }) => `${error.code} ${error.message}`,
  );

describe("Semantics 4.1, 7.4: what could never work is refused at the door, by its path, before anything runs", () => {
  it("calls that are no calls", async () => {
    for (const calls of [undefined, null, "calls", {}, new Set([call])]) {
      expect(await refused(calls, { tools })).toMatch(
        /^CONFIGURATION calls: expected an array of \{ id, name, args \}, got /,
      );
    }
    for (const odd of [undefined, null, "call", 7]) {
      expect(await refused([call, odd], { tools })).toMatch(
        /^CONFIGURATION calls\[1\]: expected \{ id, name, args \}, got /,
      );
    }
    // biome-ignore lint/suspicious/noSparseArray: a hole is what is refused.
    expect(await refused([, call], { tools })).toMatch(/^CONFIGURATION calls\[0\]: /);
  });

  it("each option, and each one that is unknown", async () => {
    const odd: Record<string, unknown[]> = {
      tools: [undefined, null, {}, "x", [{}], [...tools, ...tools]],
      lanes: [null, {}, { perTool: {} }],
      tenant: [null, "", 7],
      concurrency: [null, [], { perTools: {} }, { maxConcurrentTools: 0 }, { perToolSeconds: { misspelt: 1 } }],
      deadlines: [null, { runSecond: 1 }, { runSeconds: 0 }],
      onToolError: [null, "fail", true],
      signal: [null, {}, new AbortController()],
      approver: [null, {}, true],
      guardrails: [null, {}, [{}], [{ name: "g" }], [{ name: "g", before: 1 }], [{ before: () => undefined }]],
      hooks: [null, [null], [{ name: "h" }], [{ name: "h", after: () => undefined }]],
      runId: [null, "", 7],
      limits: [null, { maxCallsPerTurn: 0 }, { maxResultBytes: 1.5 }, { most: 1 }],
      onEvent: [null, {}],
      onError: [null, "log"],
      runner: [null, {}, new Lanes()],
      clock: [null, {}, Date],
      ids: [null, () => "id"],
      misspelt: [1],
    };
    for (const [option, values] of Object.entries(odd)) {
      for (const value of values) {
        const told = await refused([call], { tools, [option]: value });
        expect(told, `${option}: ${String(value)}`).toMatch(/^CONFIGURATION /);
        expect(told).toContain(option);
        expect(told).toMatch(/: expected |: unknown option; expected one of /);
      }
    }
    for (const options of [undefined, null, [], "tools"])
      expect(await refused([call], options)).toMatch(/^CONFIGURATION runBatch: /);
  });

  it("a bound that several batches are to share needs lanes that they share", async () => {
    for (const concurrency of [
      { perTool: { x: 1 } },
      { perTenant: 1 },
      { perResource: { r: 1 } },
      { perTenant: () => 1 },
    ]) {
      const [field] = Object.keys(concurrency);
      expect(await refused([call], { tools, concurrency })).toBe(
        `CONFIGURATION concurrency.${field}: expected shared lanes beside it (\`lanes\` or \`runner\`), got none; it would bound this one batch only`,
      );
      for (const shared of [{ lanes: new Lanes() }, { runner: new AgentRunner() }]) {
        expect(await refused([call], { tools, concurrency, ...shared })).toBe("it ran");
      }
    }
    const alone = {
      maxConcurrentTools: 1,
      perToolSeconds: { x: 9 },
      maxWaitSeconds: 9,
      maxWaiting: 9,
      abandonSeconds: 9,
    };
    expect(await refused([call], { tools, concurrency: { ...alone, perTool: {}, perResource: {} } })).toBe("it ran");
  });

  it("a bound for a tool that is not there would bound nothing", async () => {
    expect(await refused([call], { tools, lanes: new Lanes(), concurrency: { perTool: { xx: 1 } } })).toBe(
      "CONFIGURATION concurrency.perTool.xx: expected the name of a tool; the tools are x",
    );
  });

  it("lanes of one runner and those of another cannot both hold", async () => {
    const lanes = new Lanes();
    const runner = new AgentRunner({ lanes });
    expect(await refused([call], { tools, runner, lanes: new Lanes() })).toMatch(
      /^CONFIGURATION runBatch.lanes: expected the lanes of the runner/,
    );
    expect(await refused([call], { tools, runner, lanes })).toBe("it ran");
  });

  it("without any option but tools it runs, from a list or a registry, each batch under a run id of its own", async () => {
    const ids = new Set<string>();
    for (const given of [tools, new ToolRegistry(tools)]) {
      const results = await runBatch([call], { tools: given, onEvent: ({ runId }) => ids.add(runId) });
      expect(lines(results)).toEqual(["a ok: ran"]);
    }
    expect(ids.size).toBe(2);
  });
});
