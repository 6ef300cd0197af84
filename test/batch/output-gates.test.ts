import type { BatchOptions, Guardrail, Hook, ToolResult } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, told, tool } from "./batch-world.ts";

const SECRET = "the secret";
const secret = tool("secret", { run: () => SECRET });
const plain = tool("plain", { run: () => "plain", idempotent: true });

async function run(calls: string, options: Partial<BatchOptions>): Promise<{ results: ToolResult[]; told: string }> {
  const world = new BatchWorld();
  const batch = await world.start(calls, { tools: [secret, plain], ...options });
  return { results: await world.finished(batch), told: JSON.stringify(batch.events) };
}

const guard = (say: (id: string, result: ToolResult) => unknown): Guardrail => ({
  name: "g",
  after: (call, result) => say(call.id, result) as undefined,
});
const hook = (say: (id: string, result: ToolResult) => unknown): Hook => ({
  name: "h",
  afterTool: (call, result) => say(call.id, result) as undefined,
});

describe("Semantics 3.4, 3.9, 7.3: nothing that was not checked is told; what a gate does counts for its own call", () => {
  it("asked after the phase, one at a time, in call order, with what the body brought", async () => {
    const world = new BatchWorld();
    const seen: string[] = [];
    const gate = async (who: string, id: string, { content }: ToolResult): Promise<undefined> => {
      seen.push(`${who} ${id} ${content} begins`);
      await null;
      seen.push(`${who} ends`);
      return undefined;
    };
    const batch = await world.start("a:x b:x c:y", {
      tools: [world.deaf("x"), world.deaf("y", { parallelSafe: false })],
      guardrails: [guard((id, result) => gate("guardrail", id, result))],
      hooks: [hook((id, result) => gate("hook", id, result))],
    });
    await world.open("b");
    expect([seen, told(batch, "tool_completed", "tool_result")]).toEqual([[], ["tool_completed b"]]);
    await world.open("a");
    expect(seen).toEqual(
      ["a", "b"].flatMap((id) => ["guardrail", "hook"].flatMap((who) => [`${who} ${id} ${id} begins`, `${who} ends`])),
    );
    expect(told(batch, "tool_result", "tool_dispatched")).toEqual([
      "tool_dispatched a",
      "tool_dispatched b",
      "tool_result a",
      "tool_result b",
      "tool_dispatched c",
    ]);
    await world.open("c");
    await world.finished(batch);
  });

  it("a refusal withholds the result, says that the effect may be there, and leaves the siblings alone", async () => {
    const { results, told } = await run("a:secret b:plain", {
      guardrails: [guard((id) => (id === "a" ? { refuse: "leaks" } : undefined))],
    });
    expect(lines(results)).toEqual([
      'a error: guardrail "g": leaks. The side effect may have landed. (may have landed)',
      "b ok: plain",
    ]);
    expect(results[0]).not.toHaveProperty("value");
    expect(told).not.toContain(SECRET);
  });

  it("a hook rewrites the result, and the next one sees that", async () => {
    const { results, told } = await run("a:secret", {
      hooks: [hook(() => ({ result: { redacted: true } })), hook((_id, { value }) => ({ result: [value] }))],
    });
    expect(lines(results)).toEqual(['a ok: [{"redacted":true}]']);
    expect(results[0]?.value).toEqual([{ redacted: true }]);
    expect(told).not.toContain(SECRET);
    expect(lines((await run("a:secret", { hooks: [hook(() => ({ result: undefined }))] })).results)).toEqual([
      "a ok: ",
    ]);
  });

  it("a guardrail may end the run: its call is withheld, and what was not checked is in the results and not told", async () => {
    const { results, told } = await run("a:plain b:secret c:secret", {
      guardrails: [guard((id) => (id === "b" ? { endRun: "enough" } : undefined))],
    });
    expect(lines(results)).toEqual([
      "a ok: plain",
      'b error: guardrail "g": enough. The side effect may have landed. (may have landed)',
      "c ok: completed, but the run stopped before its result was checked",
    ]);
    expect(results.map(({ value }) => value)).toEqual(["plain", undefined, SECRET]);
    expect(told).not.toContain(SECRET);
  });

  it("what throws, at once, later or when its answer is read, and nonsense are never taken for yes", async () => {
    const boom = (): never => {
      throw new Error("boom");
    };
    const answers: [say: () => unknown, says: string][] = [
      [boom, '"g" failed: boom'],
      [async () => boom(), '"g" failed: boom'],
      [
        () => ({
          get refuse() {
            return boom();
          },
        }),
        "an output gate failed: boom",
      ],
      [() => false, '"g": expected { refuse } or { endRun } with a text, or nothing, got false'],
    ];
    for (const [say, says] of answers) {
      const { results, told } = await run("a:secret b:plain", {
        guardrails: [guard((id) => (id === "a" ? say() : undefined))],
      });
      expect(lines(results)[0]).toMatch(/^a error: .* The side effect may have landed\. \(may have landed\)$/);
      expect(lines(results)[0]).toContain(says);
      expect(lines(results)[1]).toBe("b ok: plain");
      expect(told).not.toContain(SECRET);
    }
    for (const say of [
      boom,
      () => "yes",
      () => ({
        get result() {
          return boom();
        },
      }),
      () => ({ result: () => 1 }),
    ]) {
      const { results, told } = await run("a:secret b:plain", {
        hooks: [hook((id) => (id === "a" ? say() : undefined))],
      });
      expect(results.map(({ status, mayHaveLanded }) => [status, mayHaveLanded])).toEqual([
        ["error", true],
        ["ok", false],
      ]);
      expect(told).not.toContain(SECRET);
    }
  });

  it("a gate that never settles ends with the run", async () => {
    const world = new BatchWorld();
    const hooks = [hook(() => new Promise(() => {}))];
    const batch = await world.start("a:secret b:plain", {
      tools: [secret, plain],
      hooks,
      deadlines: { toolCallSeconds: 3 },
    });
    await world.clock.advance(3);
    expect(lines(await world.finished(batch))).toEqual([
      "a ok: completed, but the run stopped before its result was checked",
      "b ok: completed, but the run stopped before its result was checked",
    ]);
  });

  it("a call that failed has brought nothing to check; tool_completed says no content", async () => {
    const world = new BatchWorld();
    const tools = [tool("throws", { run: () => Promise.reject(new Error(SECRET)) }), secret];
    const batch = await world.start("a:throws b:secret", {
      tools,
      guardrails: [guard((id) => (id === "a" ? expect.unreachable() : undefined))],
    });
    await world.finished(batch);
    const completed = batch.events.filter((event) => event.kind === "tool_completed");
    expect(completed.map(({ detail, callId, seconds }) => `${callId} ${detail} ${seconds}`).sort()).toEqual([
      "a threw 0",
      "b returned 0",
    ]);
    expect(JSON.stringify(completed)).not.toContain(SECRET);
  });
});
