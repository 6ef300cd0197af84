import { agentTool, type Run, type RunnerOptions, type Tool } from "lanekeeper";
import { calls, type Gate, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, outcomes, takes } from "../runner/setting.ts";
import { answering, type ReportWorld, report } from "./report-world.ts";

const alone = { parallelSafe: false };

/** A batch of calls by id: those that begin with `w` write, those with `s` run an agent, the others read. */
function batch(ids: string) {
  return calls(
    ...ids.split(" ").map((id) => {
      const name = { w: "write", s: "sub" }[id.charAt(0)] ?? "read";
      return { id, name, args: name === "sub" ? { input: id } : { id } };
    }),
  );
}

/** Opens the gate for those who wait, one group after the other; tells who waited together. */
async function drain({ clock, gate }: ReportWorld, running: Promise<Run>): Promise<{ run: Run; groups: string[] }> {
  const groups: string[] = [];
  await clock.settle();
  while (gate.waiting.length > 0) {
    groups.push(gate.waiting.join(" "));
    // The last first: what must wait for all of them must not start when one has ended.
    for (const id of gate.waiting.reverse()) {
      open(gate, id);
      await clock.settle();
      if (gate.waiting.some((other) => !(groups.at(-1) as string).includes(other))) break;
    }
  }
  return { run: await clock.promptly(running), groups };
}

function open(gate: Gate<unknown>, id: string): void {
  gate.open(id, id);
}

describe("Semantics 5.1, 5.2, 5.3, 4.8: what must run alone runs alone, whatever became of what was before it", () => {
  report(
    "C05: reads and writes that take turns run in strict phases, and their results stand in call order",
    { starts: { read: 4, write: 2 } },
    async (world) => {
      const runner = world.runner(
        answering(() => batch("r1 r2 w1 r3 w2 r4")),
        [world.deaf("read"), world.deaf("write", alone)],
      );
      const { run, groups } = await drain(world, world.run(runner));
      expect(groups).toEqual(["r1 r2", "w1", "r3", "w2", "r4"]);
      expect(outcomes(run)).toEqual(["r1", "r2", "w1", "r3", "w2", "r4"].map((id) => `${id} ok: ${id}`));
    },
  );

  // A phase orders its own batch only: what a nested run reads or writes may be beside what its caller's siblings read.
  report(
    "C05: writes of several nested runs never overlap each other, and never the outer run's own write",
    { starts: { read: 1, write: 4 } },
    async (world) => {
      const worker = agent("worker", { tools: ["write"] });
      const sub = agentTool(worker, { name: "sub", description: "" });
      const runner = world.runner(
        answering((input, { agent }) => batch(agent === "worker" ? `w${input}` : "s1 s2 r s3 w")),
        [world.deaf("read"), world.deaf("write", alone), sub],
      );
      const { run, groups } = await drain(world, world.run(runner));
      expect(groups).toEqual(["r ws1", "r ws2", "r ws3", "w"]);
      expect(world.witness.peak("write")).toBe(1);
      expect(run.results.map(({ status }) => status)).toEqual(["ok", "ok", "ok", "ok", "ok"]);
    },
  );

  const LATE: Record<string, { declared: Partial<Tool>; told: string; startsAt: number }> = {
    "waits for it": { declared: {}, told: "tool_overdue", startsAt: 100 },
    "waits until it is abandoned as declared": { declared: { abandonSeconds: 7 }, told: "tool_abandoned", startsAt: 8 },
  };
  for (const [what, { declared, told, startsAt }] of Object.entries(LATE)) {
    report(
      `C05: when a write passes its ceiling and its body lives on, the phase after it ${what}`,
      { starts: { write: 1, read: 1 } },
      async (world) => {
        const runner = world.runner(
          answering(() => batch("w r")),
          [world.tool("write", takes(100), { ...alone, ...(declared as object) }), world.tool("read", takes(1))],
          { concurrency: { perToolSeconds: { write: 1 } } },
        );
        const running = world.run(runner);
        await world.clock.advance(startsAt + 1);
        const run = await world.clock.promptly(running);
        expect(run.results.map(({ status, mayHaveLanded }) => `${status} ${mayHaveLanded}`)).toEqual([
          "error true",
          "ok false",
        ]);
        const at = (kind: string, tool: string) => {
          const [event] = world.heard.filter((one) => one.kind === kind && "tool" in one && one.tool === tool);
          return ((event?.at ?? 0) - (world.heard[0]?.at ?? 0)) / 1_000;
        };
        expect(at("tool_dispatched", "read")).toBe(startsAt);
        expect(world.heard.map(({ kind }) => kind)).toContain(told);
        await world.clock.advance(100);
      },
    );
  }

  const FAILS: Record<string, { writes: number; options?: RunnerOptions; body?: () => unknown }> = {
    throws: {
      writes: 1,
      body: () => {
        throw new Error("disk full");
      },
    },
    "is denied": {
      writes: 0,
      options: { approver: ({ tool }) => (tool === "write" ? { approve: false } : { approve: true }) },
    },
    "is refused by a guardrail": {
      writes: 0,
      options: {
        guardrails: [{ name: "no writes", before: ({ name }) => (name === "write" ? { refuse: "no" } : undefined) }],
      },
    },
    "gets arguments that it can not read": { writes: 0 },
  };
  for (const [how, { writes, options, body = () => "written" }] of Object.entries(FAILS)) {
    report(
      `C05: when a write ${how}, the phases after it still run`,
      { starts: { read: 2, ...(writes > 0 ? { write: writes } : {}) } },
      async (world) => {
        const args = how.startsWith("gets") ? "not json" : {};
        const write = world.tool("write", body, { ...alone, requiresApproval: how === "is denied" });
        const asked = calls({ read: {} }, { id: "w", name: "write", args }, { read: {} });
        const runner = world.runner(
          answering(() => asked),
          [world.tool("read", () => "read"), write],
          options,
        );
        const run = await world.clock.promptly(world.run(runner));
        expect(run.results.map(({ status }) => status === "ok")).toEqual([true, false, true]);
      },
    );
  }

  for (const [what, args, together] of [
    ["with equal arguments, in whatever order their keys stand, run one after the other", { b: 2, a: 1 }, 1],
    ["with other arguments are not in each other's way", { a: 2, b: 1 }, 2],
  ] as const) {
    report(`C05: writes of two runs of one tenant ${what}`, { starts: { write: 2 } }, async (world) => {
      const provider = new ScriptedProvider(
        calls({ id: "one", name: "write", args: { a: 1, b: 2 } }),
        calls({ id: "other", name: "write", args }),
        say("ok"),
        say("ok"),
      );
      const runner = world.runner(provider, [world.deaf("write", alone)]);
      const both = [world.run(runner), world.run(runner)];
      await world.clock.settle();
      expect(world.gate.waiting).toEqual(["one", "other"].slice(0, together));
      for (const running of both) expect((await world.finish(running)).results).toMatchObject([{ status: "ok" }]);
    });
  }
});
