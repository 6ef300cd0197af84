import type { Message, ModelRequest, RunEvent, ToolCall } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, setUp, tool } from "./setting.ts";

/** Changes everything it can reach. */
function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    spoil(member);
    try {
      (value as Record<string, unknown>)[key] = "spoilt";
    } catch {
      // What is frozen cannot be spoilt.
    }
  }
  if (Array.isArray(value)) {
    try {
      value.length = 0;
    } catch {
      // The same.
    }
  }
}

const SCRIPT = [
  { ...calls({ id: "a", name: "search", args: { q: { deep: "x" } } }), vendor: { mark: [1] } },
  calls({ id: "b", name: "search", args: { q: { deep: "y" } } }),
  say("done", { vendor: { mark: [2] } }),
];

async function runOf(spoils: {
  request?: boolean;
  response?: boolean;
  listener?: boolean;
  body?: boolean;
  input?: boolean;
}) {
  const script = structuredClone(SCRIPT);
  const requests: ModelRequest[] = [];
  const provider = {
    name: "reusing",
    async generate(request: ModelRequest) {
      requests.push(structuredClone(request));
      if (spoils.request) spoil(request);
      const response = script.shift() as (typeof SCRIPT)[number];
      // After the runtime has had every chance to read it.
      if (spoils.response) setImmediate(() => spoil(response));
      return response;
    },
  };
  const search = tool("search", (args) => {
    const found = { found: [structuredClone(args.q)] };
    if (spoils.body) {
      spoil(args);
      setImmediate(() => spoil(found));
    }
    return found;
  });
  const onEvent = (event: RunEvent) => (spoils.listener ? spoil(event) : undefined);
  const { runner } = setUp(provider, [search], { onEvent });
  const input: Message[] = [{ role: "user", content: [{ type: "text", text: "Go." }] }];
  const running = runner.run(agent("planner"), input);
  if (spoils.input) spoil(input);
  const run = await running;
  return { run, requests, input };
}

describe("Semantics 2.12: what others were given is their own copy, and a listener that throws loses nothing", () => {
  it("a provider, body, listener or caller that changes what it was given changes nothing in the run", async () => {
    const plain = await runOf({});
    expect(faults(plain.run)).toEqual([]);
    for (const spoils of [{ request: true }, { response: true }, { listener: true }, { body: true }, { input: true }]) {
      const { run, requests } = await runOf(spoils);
      expect({ ...run, events: run.events.map((event) => ({ ...event })) }).toEqual({
        ...plain.run,
        events: plain.run.events.map((event) => ({ ...event })),
      });
      expect(requests).toEqual(plain.requests);
    }
  });

  it("the input is left as it was, and what the run gives back shares nothing with it", async () => {
    const { run, input } = await runOf({});
    spoil(run.messages);
    expect(input).toEqual([{ role: "user", content: [{ type: "text", text: "Go." }] }]);
  });

  it("a response whose calls are changed while gates are open runs what the model asked for", async () => {
    const asked = calls({ search: { q: "x" } });
    const provider = new ScriptedProvider(asked, say("done"));
    const ran: unknown[] = [];
    const { runner } = setUp(provider, [tool("search", (args) => void ran.push(args), { requiresApproval: true })], {
      approver: async () => {
        const call = asked.toolCalls[0] as ToolCall;
        call.args = { q: "other" };
        asked.toolCalls.push({ id: "late", name: "search", args: {} });
        return { approve: true };
      },
    });
    const run = await runner.run(agent("planner"), "Go.");
    expect(ran).toEqual([{ q: "x" }]);
    expect(run.results).toHaveLength(1);
  });

  it("what a listener throws, at once or later, goes to onError and nowhere else", async () => {
    const errors: unknown[] = [];
    const provider = new ScriptedProvider(calls({ search: {} }), say("done"));
    const { runner, clock } = setUp(provider, [tool("search", () => "found")], {
      onEvent: ({ kind }) => {
        throw `runner ${kind}`;
      },
      onError: (error) => {
        errors.push(error);
        throw new Error("nobody hears this");
      },
    });
    const leaks = leakCheck(runner, { clock, provider });
    const run = await runner.run(agent("planner"), "Go.", {
      onEvent: async ({ kind }) => {
        throw `run ${kind}`;
      },
    });
    await clock.settle();
    expect(run).toMatchObject({ status: "completed", output: "done" });
    const expected = run.events.flatMap(({ kind }) => [`runner ${kind}`, `run ${kind}`]);
    expect([...errors].sort()).toEqual(expected.sort());
    await leaks.done();
  });

  it("an abort reason is the caller's own object", async () => {
    const reason = { mine: true };
    const { runner } = setUp(new ScriptedProvider(), []);
    const run = await runner.run(agent("planner"), "Go.", { signal: AbortSignal.abort(reason) });
    expect(errorOf(run).cause).toBe(reason);
  });
});
