import { describe, expect, it } from "vitest";
import { CLEAN, inChild } from "./child-process.ts";

const TIMEOUT_MS = 60_000;

/** What the scripts share: a runner with every limit set, all of them far away, but those that a case brings near. */
const SHARED = `
  import { Agent, AgentRunner, defineTool } from "lanekeeper";
  import { calls, ScriptedProvider, say as answer } from "lanekeeper/testing";

  const input = { type: "object" };
  const never = new Promise(() => {});
  const work = (run, declared) => defineTool({ name: "work", description: "", input, run, ...declared });
  const agent = new Agent({ name: "planner", model: "m", freeText: true, maxTurns: 3 });
  const once = () => new ScriptedProvider(calls({ work: {} }, { work: {} }), answer("ok"));
  const HOUR = 3_600;
  const make = (tool, near = {}, provider = once()) =>
    new AgentRunner({
      provider,
      tools: [tool],
      concurrency: {
        maxConcurrentTools: 4, perTool: { work: 1 }, perTenant: 4, maxWaitSeconds: HOUR, maxWaiting: 100,
        abandonSeconds: near.abandonSeconds ?? HOUR, perToolSeconds: { work: near.work ?? HOUR },
      },
      deadlines: { runSeconds: HOUR, modelCallSeconds: HOUR, toolCallSeconds: HOUR, ...near.deadlines },
      limits: { maxCallsPerTurn: 8, maxDepth: 2, maxResultBytes: 1_000 },
      ...near.options,
    });
`;

const ENDINGS: Record<string, { script: string; said: string }> = {
  completed: { script: "const run = await make(work(() => 'done')).run(agent, 'Go.');", said: "completed ok ok" },
  "completed with calls that were retried": {
    script: `
      let failures = 0;
      const tool = work(() => { if (failures++ < 2) throw new Error("not yet"); return "done"; },
                        { idempotent: true, retry: { attempts: 3, backoffSeconds: 0.01 } });
      const run = await make(tool).run(agent, "Go.");`,
    said: "completed ok ok",
  },
  "failed, since its model did": {
    script:
      "const run = await make(work(() => 'done'), {}, new ScriptedProvider(new Error('down'))).run(agent, 'Go.');",
    said: "failed",
  },
  "failed at its turn limit": {
    script: `
      const asks = () => calls({ work: {} });
      const run = await make(work(() => "done"), {}, new ScriptedProvider(asks, asks, asks)).run(agent, "Go.");`,
    said: "failed ok ok never_dispatched",
  },
  "failed at its own deadline, with a body that never ends": {
    script: "const run = await make(work(() => never), { deadlines: { runSeconds: 0.05 } }).run(agent, 'Go.');",
    said: "failed indeterminate never_dispatched",
  },
  "failed at the deadline of a tool phase, with a body that never ends": {
    script: "const run = await make(work(() => never), { deadlines: { toolCallSeconds: 0.05 } }).run(agent, 'Go.');",
    said: "failed indeterminate never_dispatched",
  },
  "failed at the deadline of a model that never answers": {
    script: `
      const silent = { name: "silent", generate: () => never };
      const run = await make(work(() => "done"), { deadlines: { modelCallSeconds: 0.05 } }, silent).run(agent, "Go.");`,
    said: "failed",
  },
  "failed at a tool's ceiling under fail_run, with a body that never ends": {
    script: `
      const strict = new Agent({ name: "planner", model: "m", freeText: true, onToolError: "fail_run" });
      const run = await make(work(() => never), { work: 0.05 }).run(strict, "Go.");`,
    said: "failed error never_dispatched",
  },
  "suspended, since nobody was there to approve": {
    script: "const run = await make(work(() => 'done', { requiresApproval: true })).run(agent, 'Go.');",
    said: "suspended",
  },
  "cancelled, with a body that ends later": {
    script: `
      const stop = new AbortController();
      const later = work(() => { stop.abort(); return new Promise((resolve) => setTimeout(resolve, 300, "late")); });
      const run = await make(later).run(agent, "Go.", { signal: stop.signal });`,
    said: "cancelled indeterminate never_dispatched",
  },
  "cancelled, with a body that fails later": {
    script: `
      const stop = new AbortController();
      const fail = () => new Promise((_, reject) => setTimeout(reject, 300, new Error("late")));
      const run = await make(work(() => { stop.abort(); return fail(); })).run(agent, "Go.", { signal: stop.signal });`,
    said: "cancelled indeterminate never_dispatched",
  },
  "cancelled in the midst of a long backoff": {
    script: `
      const stop = new AbortController();
      const tool = work(() => { setTimeout(() => stop.abort(), 20); throw new Error("not yet"); },
                        { idempotent: true, retry: { attempts: 3, backoffSeconds: HOUR, maxBackoffSeconds: HOUR } });
      const run = await make(tool).run(agent, "Go.", { signal: stop.signal });`,
    said: "cancelled error error",
  },
  "cancelled by a reader who left its stream": {
    script: `
      const stream = make(work(() => never)).stream(agent, "Go.");
      for await (const event of stream) if (event.kind === "tool_dispatched") break;
      const run = await stream.run;`,
    said: "cancelled indeterminate never_dispatched",
  },
};

describe("Semantics 2.8, 4.8, 7.4: a process whose runs have settled ends by itself, and has nothing to complain of", () => {
  for (const [how, { script, said }] of Object.entries(ENDINGS)) {
    it.concurrent(`G7: when its run is ${how}`, { timeout: TIMEOUT_MS }, async () => {
      const end = await inChild(`
        ${SHARED}
        ${script}
        say([run.status, ...run.results.map(({ status }) => status)].join(" "));
        settled();
      `);
      expect(end).toEqual({ ...CLEAN, said: [said] });
    });
  }

  it.concurrent("the harness sees what keeps a process alive, what it says on stderr, and how it fails", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const [lingers, warns, throws] = await Promise.all([
      inChild("settled(); setTimeout(() => {}, 3_600_000);"),
      inChild("setTimeout(() => {}, 2 ** 31); settled(); process.exitCode = 0;"),
      inChild("settled(); Promise.reject(new Error('unheard'));"),
    ]);
    expect(lingers).toEqual({ ...CLEAN, code: null, said: [] });
    expect(warns.stderr).toContain("TimeoutOverflowWarning");
    expect([throws.code, throws.stderr]).toEqual([1, expect.stringContaining("unheard")]);
  });
});
