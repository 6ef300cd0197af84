import type { Approver, BatchOptions, Decision, PendingCall } from "lanekeeper";
import { defineTool } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { BatchWorld, lines, told, tool } from "./batch-world.ts";

const echo = tool("echo", { requiresApproval: true, run: (args) => args });

async function linesOf(decisions: Record<string, unknown>, more: Partial<BatchOptions> = {}): Promise<string[]> {
  const world = new BatchWorld();
  const approver: Approver = ({ callId }) => decisions[callId] as Decision;
  const calls = Object.keys(decisions).map((id) => ({ id, name: "echo", args: { n: 1 } }));
  const batch = await world.start(calls, { tools: [echo], approver, ...more });
  return lines(await world.finished(batch));
}

describe("Semantics 2.4, 3.2, 3.3, 3.5, 3.8: a person's decision is about one call, and waiting for it costs nothing", () => {
  it("approve, approve with edits, deny, answer, also with falsy answers; siblings go on", async () => {
    expect(
      await linesOf({
        approved: { approve: true },
        edited: { approve: true, args: '{"n":2}' },
        denied: { approve: false, reason: "too dear" },
        silent: { approve: false },
        answered: { result: { by: "hand" } },
        no: { result: false },
        zero: { result: 0 },
        empty: { result: "" },
        nothing: { result: undefined },
      }),
    ).toEqual([
      'approved ok: {"n":1}',
      'edited ok: {"n":2}',
      "denied never_dispatched: never dispatched: denied: too dear",
      "silent never_dispatched: never dispatched: denied: no reason was given",
      'answered ok: {"by":"hand"}',
      "no ok: false",
      "zero ok: 0",
      "empty ok: ",
      "nothing ok: ",
    ]);
  });

  it("an answer in the tool's place is not dispatched, and passes the output gates in call order", async () => {
    const world = new BatchWorld();
    const checked: string[] = [];
    const approver: Approver = ({ callId }) => (callId === "b" ? { result: "by hand" } : { approve: true });
    const hooks = [{ name: "h", afterTool: ({ id }: { id: string }) => void checked.push(id) }];
    const batch = await world.start("a:echo b:echo c:echo d:echo", { tools: [echo], approver, hooks });
    expect(lines(await world.finished(batch))[1]).toBe("b ok: by hand");
    expect(checked).toEqual(["a", "b", "c", "d"]);
    expect(told(batch, "tool_dispatched")).not.toContain("tool_dispatched b");
  });

  it("an edit is validated like the model's own arguments", async () => {
    const world = new BatchWorld();
    const input = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
    const strict = defineTool({ name: "strict", description: "", input, requiresApproval: true, run: ({ n }) => n });
    const approver: Approver = ({ callId }) => ({ approve: true, args: callId === "a" ? { n: "x" } : { n: 7 } });
    const calls = ["a", "b"].map((id) => ({ id, name: "strict", args: { n: 1 } }));
    const batch = await world.start(calls, { tools: [strict], approver });
    const [bad, good] = await world.finished(batch);
    expect(bad).toMatchObject({ status: "error", error: { code: "TOOL_INPUT" } });
    expect(good).toMatchObject({ status: "ok", value: 7 });
  });

  it("nobody to ask, a tool without a body, and a wish to suspend are never dispatched: nobody could resume", async () => {
    const approval = "never dispatched: it waits for approval, and nothing here can take the answer up";
    expect(await linesOf({ a: { suspend: true } })).toEqual([`a never_dispatched: ${approval}`]);
    expect(await linesOf({ a: {} }, { approver: undefined })).toEqual([`a never_dispatched: ${approval}`]);
    const world = new BatchWorld();
    const batch = await world.start("a:outside b:runs", {
      tools: [tool("outside"), tool("runs", { run: () => "ran" })],
    });
    expect(lines(await world.finished(batch))).toEqual([
      "a never_dispatched: never dispatched: its tool has no body, and nothing here can take an answer from outside up",
      "b ok: ran",
    ]);
  });

  it("the person is told what is asked for, one call at a time, each under an id of its own", async () => {
    const world = new BatchWorld();
    const requests: PendingCall[] = [];
    const approver: Approver = (request) => {
      requests.push(request);
      return { approve: true };
    };
    const batch = await world.start("a:free b:echo c:echo", {
      tools: [echo, tool("free", { run: () => "" })],
      approver,
      tenant: "acme",
    });
    await world.finished(batch);
    const same = { runId: "run", path: "0", tool: "echo", tenant: "acme", args: {}, reason: "approval", of: 3 };
    expect(requests).toEqual([
      { ...same, id: "run/0/1.1", callId: "b", position: 1 },
      { ...same, id: "run/0/1.2", callId: "c", position: 2 },
    ]);
  });

  it("a decision that throws when it is read, or is none, counts against its call", async () => {
    const thrower = {
      get approve(): never {
        throw new Error("unreadable");
      },
    };
    const trap = new Proxy(
      {},
      {
        has: () => {
          throw new Error("trapped");
        },
      },
    );
    expect(await linesOf({ a: thrower, b: trap, c: "yes", d: { approve: true } })).toEqual([
      "a never_dispatched: never dispatched: a gate failed: unreadable",
      "b never_dispatched: never dispatched: a gate failed: trapped",
      expect.stringMatching(/^c never_dispatched: never dispatched: the approver: expected .*, got "yes"$/),
      'd ok: {"n":1}',
    ]);
  });

  it("waiting for a person holds no place and spends neither toolCallSeconds nor a tool's ceiling", async () => {
    const world = new BatchWorld({ perTool: { x: 1 }, perToolSeconds: { x: 5 } });
    const tools = [world.deaf("x", { requiresApproval: true })];
    const approver: Approver = async () => {
      await world.gate.wait("person");
      return { approve: true };
    };
    const batch = await world.start("a:x", { tools, approver, deadlines: { toolCallSeconds: 10 } });
    await world.clock.advance(1_000);
    expect(world.lanes.snapshot().every(({ inFlight, waiting }) => inFlight === 0 && waiting === 0)).toBe(true);
    await world.open("person");
    await world.clock.advance(4);
    await world.open("a");
    expect(lines(await world.finished(batch))).toEqual(["a ok: a"]);
  });
});
