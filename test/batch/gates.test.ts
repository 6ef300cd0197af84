import {
  type Approver,
  CancelledError,
  defineTool,
  type Guardrail,
  type Hook,
  type LanekeeperError,
  type Tool,
  type ToolOptions,
} from "lanekeeper";
import { Deferred } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { Activity } from "../../src/batch/activity.ts";
import { type GateOutcome, passGates } from "../../src/batch/gates.ts";
import { Stop, Stopped } from "../../src/batch/stop.ts";

const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
const tool = (more: Partial<ToolOptions<typeof schema>> = {}): Tool =>
  defineTool({ name: "booking", description: "", input: schema, run: () => "", ...more });

interface Given {
  tool?: Tool;
  input?: Record<string, unknown>;
  approver?: Approver;
  guardrails?: Guardrail[];
  hooks?: Hook[];
}

function start(given: Given): { outcome: Promise<GateOutcome>; notes: string[]; stop: Stop; activity: Activity } {
  const stop = new Stop();
  const activity = new Activity();
  activity.begin("busy");
  const notes: string[] = [];
  const endRun = (error: LanekeeperError): void => void stop.fire({ status: "failed", error, why: error.message });
  const context = { signal: stop.signal, tenant: "acme", runId: "run_1", path: "0", context: undefined };
  const outcome = passGates(
    {
      id: "c1",
      name: "booking",
      position: 0,
      of: 1,
      tool: given.tool ?? tool(),
      input: given.input ?? { n: 1 },
      pendingId: "p1",
    },
    {
      approver: given.approver,
      guardrails: given.guardrails ?? [],
      hooks: given.hooks ?? [],
      context,
      stop,
      endRun,
      activity,
    },
    (kind, detail) => notes.push(`${kind} ${detail}`),
  );
  return { outcome, notes, stop, activity };
}
const resultOf = async (given: Given): Promise<unknown> => {
  const outcome = await start(given).outcome;
  return "result" in outcome ? `${outcome.kind} ${outcome.result.status} ${outcome.result.content}` : outcome.kind;
};
const asks = { requiresApproval: true };

describe("Semantics 3.2, 3.9: gates in their order; what throws or answers nonsense is never allowed", () => {
  it("asks guardrails, then the approver, then hooks, each with copies", async () => {
    const order: string[] = [];
    const spoil = (who: string, args: unknown): void => {
      order.push(`${who} ${JSON.stringify(args)}`);
      (args as { n: number }).n = 666;
    };
    const { outcome, notes } = start({
      tool: tool(asks),
      guardrails: [{ name: "g", before: (call) => spoil("guardrail", call.args) }],
      approver: ({ args }) => {
        spoil("approver", args);
        return { approve: true };
      },
      hooks: [{ name: "h", beforeTool: (call) => spoil("hook", call.args) }],
    });
    expect(await outcome).toEqual({ kind: "passed", input: { n: 1 }, parallelSafe: true });
    expect(order).toEqual(['guardrail {"n":1}', 'approver {"n":1}', 'hook {"n":1}']);
    expect(notes).toEqual(['gate_passed guardrail "g"', "gate_passed approval", 'gate_passed hook "h"']);
  });

  it("bad arguments reach no gate", async () => {
    const guardrails = [{ name: "g", before: () => expect.unreachable() as undefined }];
    expect(await resultOf({ input: { n: "x" }, guardrails })).toMatch(/^failed error .*n/);
  });

  it("edits are read and validated again, and the next gate sees them", async () => {
    const hooks: Hook[] = [
      { name: "a", beforeTool: () => ({ args: '{"n":2}' }) },
      { name: "b", beforeTool: ({ args }) => ({ args: { n: (args as { n: number }).n + 1 } }) },
    ];
    expect(await start({ hooks }).outcome).toMatchObject({ kind: "passed", input: { n: 3 } });
    expect(await resultOf({ hooks: [{ name: "a", beforeTool: () => ({ args: { n: "x" } }) }] })).toMatch(
      /^failed error/,
    );
    expect(await resultOf({ hooks: [{ name: "a", beforeTool: () => ({ args: undefined }) }] })).toMatch(
      /^failed never_dispatched .*expected arguments/,
    );
    const approver: Approver = () => ({ approve: true, args: { n: 9 } });
    expect(await start({ tool: tool(asks), approver }).outcome).toMatchObject({ kind: "passed", input: { n: 9 } });
  });

  it("a refusal of a guardrail, a hook or a person is a denial", async () => {
    expect(await resultOf({ guardrails: [{ name: "g", before: () => ({ refuse: "no" }) }] })).toBe(
      "refused never_dispatched never dispatched: denied: no",
    );
    expect(await resultOf({ hooks: [{ name: "h", beforeTool: () => ({ refuse: "no" }) }] })).toContain("denied: no");
    expect(await resultOf({ tool: tool(asks), approver: () => ({ approve: false }) })).toContain("no reason was given");
  });

  it("a guardrail may end the run", async () => {
    const { outcome, stop } = start({ guardrails: [{ name: "g", before: () => ({ endRun: "enough" }) }] });
    await expect(outcome).rejects.toBeInstanceOf(Stopped);
    expect(stop.reason).toMatchObject({ status: "failed", error: { code: "GUARDRAIL_VIOLATION", guardrail: "g" } });
  });

  it("what throws counts against the call, at once or later", async () => {
    const boom = (): never => {
      throw new Error("boom");
    };
    const late = async (): Promise<never> => boom();
    for (const given of [
      { guardrails: [{ name: "g", before: boom }] },
      { hooks: [{ name: "h", beforeTool: late }] },
      { tool: tool(asks), approver: late },
      { tool: tool({ requiresApproval: boom }) },
      { tool: tool({ parallelSafe: boom }) },
    ] satisfies Given[]) {
      expect(await resultOf(given)).toMatch(/^failed never_dispatched never dispatched: .*failed: boom$/);
    }
  });

  it("nonsense is no permission", async () => {
    for (const said of [undefined, null, true, "yes", {}, { approve: "yes" }, { approve: 1 }]) {
      expect(await resultOf({ tool: tool(asks), approver: () => said as never })).toMatch(/^failed never_dispatched/);
    }
    expect(await resultOf({ tool: tool({ requiresApproval: (() => undefined) as never }) })).toMatch(/^failed/);
    expect(await resultOf({ hooks: [{ name: "h", beforeTool: () => ({ arg: {} }) as never }] })).toMatch(/^failed/);
    expect(await resultOf({ guardrails: [{ name: "g", before: () => false as never }] })).toMatch(/^failed/);
  });

  it("a falsy answer in the tool's place is an answer", async () => {
    for (const result of [false, 0, "", null]) {
      const approver: Approver = () => ({ result });
      expect(await start({ tool: tool(asks), approver }).outcome).toEqual({
        kind: "answered",
        input: { n: 1 },
        value: result,
      });
    }
  });

  it("suspends without an approver, when told to, and for a tool without a body", async () => {
    const pending = {
      id: "p1",
      runId: "run_1",
      path: "0",
      callId: "c1",
      tool: "booking",
      tenant: "acme",
      position: 0,
      of: 1,
    };
    expect(await start({ tool: tool(asks) }).outcome).toMatchObject({
      kind: "suspended",
      pending: { ...pending, reason: "approval" },
    });
    expect(await resultOf({ tool: tool(asks), approver: () => ({ suspend: true }) })).toBe("suspended");
    expect(await start({ tool: tool({ run: undefined }) }).outcome).toMatchObject({ pending: { reason: "external" } });
  });

  it("waiting for a person is told as such and ends with the run; a late answer does nothing", async () => {
    const answer = new Deferred<{ approve: true }>();
    let signal: AbortSignal | undefined;
    const { outcome, stop, activity, notes } = start({
      tool: tool(asks),
      approver: (_request, options) => {
        signal = options.signal;
        return answer.promise;
      },
    });
    await Promise.resolve();
    expect(activity.state).toBe("people");
    stop.fire({ status: "cancelled", error: new CancelledError("enough"), why: "enough" });
    expect(signal?.aborted).toBe(true);
    await expect(outcome).rejects.toBeInstanceOf(Stopped);
    answer.resolve({ approve: true });
    await answer.promise;
    expect(notes).toEqual([]);
    expect(activity.state).toBe("busy");
  });
});
