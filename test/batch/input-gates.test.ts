import { type BatchOptions, defineTool, type Guardrail, type Hook } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, told, tool } from "./batch-world.ts";

const input = { type: "object", properties: { n: { type: "integer" } } } as const;
const echo = defineTool({ name: "echo", description: "", input, run: (args) => args });
const boom = (): never => {
  throw new Error("boom");
};
const guard = (say: (id: string) => unknown): Guardrail => ({ name: "g", before: ({ id }) => say(id) as undefined });
const hook = (say: (id: string) => unknown): Hook => ({ name: "h", beforeTool: ({ id }) => say(id) as undefined });

async function linesOf(calls: string, options: Partial<BatchOptions>): Promise<string[]> {
  const world = new BatchWorld();
  const leaks = world.leaks();
  const told = lines(await world.finished(await world.start(calls, { tools: [echo], ...options })));
  await leaks.done();
  return told;
}

describe("Semantics 3.2, 3.3, 3.9: what a gate says is about its own call, and its siblings go on", () => {
  it("a refusal of a guardrail or a hook is a result", async () => {
    for (const gates of [
      { guardrails: [guard((id) => (id === "b" ? { refuse: "not b" } : undefined))] },
      { hooks: [hook((id) => (id === "b" ? { refuse: "not b" } : undefined))] },
    ]) {
      expect(await linesOf("a:echo b:echo c:echo", gates)).toEqual([
        "a ok: {}",
        "b never_dispatched: never dispatched: denied: not b",
        "c ok: {}",
      ]);
    }
  });

  it("a hook rewrites arguments, which are validated again and given to the body parsed freshly", async () => {
    const rewrite = (id: string): unknown => ({ a: { args: '{"n":2}' }, b: { args: { n: "x" } }, c: { args: [] } })[id];
    expect(await linesOf("a:echo b:echo c:echo d:echo", { hooks: [hook(rewrite)] })).toEqual([
      'a ok: {"n":2}',
      expect.stringMatching(/^b error: echo: bad arguments: n: /),
      expect.stringMatching(/^c error: echo: bad arguments: expected a JSON object/),
      "d ok: {}",
    ]);
  });

  it("a guardrail may end the run: nothing goes out, also not what had passed before", async () => {
    const world = new BatchWorld();
    const guardrails = [guard((id) => (id === "b" ? { endRun: "enough" } : undefined))];
    const batch = await world.start("a:x b:x c:x", { tools: [world.deaf("x")], guardrails });
    const why = 'never_dispatched: never dispatched: guardrail "g": enough';
    const results = await world.finished(batch);
    expect(lines(results)).toEqual([`a ${why}`, `b ${why}`, `c ${why}`]);
    expect([told(batch, "tool_dispatched"), world.witness.starts()]).toEqual([[], 0]);
  });

  it("what throws, at once, later or when its answer is read, is never allowed", async () => {
    const unreadable = {
      get refuse(): never {
        return boom();
      },
    };
    const trap = new Proxy({}, { has: boom, get: (_target, key) => (key === "then" ? undefined : boom()) });
    for (const say of [boom, async () => boom(), () => unreadable, () => trap, () => "nonsense"]) {
      for (const gates of [
        { guardrails: [guard((id) => (id === "a" ? say() : undefined))] },
        { hooks: [hook((id) => (id === "a" ? say() : undefined))] },
      ]) {
        const [a, b] = await linesOf("a:echo b:echo", gates);
        expect(a).toMatch(/^a never_dispatched: never dispatched: .*(failed: boom|expected \{)/);
        expect(b).toBe("b ok: {}");
      }
    }
  });

  it("a gate that never settles ends with the batch, and asks nobody after it", async () => {
    const world = new BatchWorld();
    const asked: string[] = [];
    const guardrails = [guard((id) => asked.push(id) && new Promise(() => {}))];
    const batch = await world.start("a:echo b:echo", { tools: [echo], guardrails, deadlines: { toolCallSeconds: 5 } });
    await world.clock.advance(5);
    const why =
      "never_dispatched: never dispatched: deadlines.toolCallSeconds: a turn's tool phase took longer than 5 s";
    expect(lines(await world.finished(batch))).toEqual([`a ${why}`, `b ${why}`]);
    expect(asked).toEqual(["a"]);
  });

  it("gates see the input form, and bodies what the schema made of it", async () => {
    const seen: unknown[] = [];
    const loose = tool("loose", { run: (args) => args });
    const world = new BatchWorld();
    const batch = await world.start([{ id: "a", name: "loose", args: '{"q":[1]}' }], {
      tools: [loose],
      guardrails: [{ name: "g", before: (call) => void seen.push(call) }],
    });
    await world.finished(batch);
    expect(seen).toEqual([{ id: "a", name: "loose", position: 0, args: { q: [1] } }]);
  });
});
