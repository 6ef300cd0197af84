import type { AgentRunner, RunnerOptions, ToolOptions } from "lanekeeper";
import { calls, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, errorOf } from "../runner/setting.ts";
import { type ReportWorld, report } from "./report-world.ts";

const boom = (): never => {
  throw new Error("trap");
};
const hides = (getPrototypeOf: () => never): unknown => new Proxy(new Error("hidden"), { getPrototypeOf });

/** Has a prototype, which has one, and so on. */
const endless = (): object => new Proxy(new Error("hidden"), { getPrototypeOf: endless });

/** What cannot be asked what it is: `instanceof` throws, and throws what cannot be asked either. */
const HIDDEN: Readonly<Record<string, () => unknown>> = {
  "what throws when it is asked what it is": () => hides(boom),
  "what throws the same again when it is asked": () =>
    hides(() => {
      throw hides(boom);
    }),
  "what has prototypes without end": endless,
};

const throws = (make: () => unknown) => (): never => {
  throw make();
};

/** `odd` is the call that it is thrown at; `good` must not notice. */
async function play(world: ReportWorld, body: () => unknown, declared: Partial<ToolOptions>, options: RunnerOptions) {
  const tools = [world.tool("odd", body, declared), world.tool("good", () => "good")];
  const script = new ScriptedProvider(calls({ odd: {} }, { good: {} }), say("ok"));
  return world.finish(world.run(world.runner(script, tools, options)));
}

const at = (name: string, act: () => never) => (call: { name: string }) => (call.name === name ? act() : undefined);

describe("Semantics 2.7, 3.9: what is thrown is told and never asked what it is, whoever throws it", () => {
  for (const [what, make] of Object.entries(HIDDEN)) {
    const thrown = throws(make);
    for (const [when, body] of [
      ["at once", thrown],
      ["later", async () => thrown()],
    ] as const) {
      report(
        `C40: a body that throws ${when} ${what} fails alone, and its places go back`,
        { starts: { odd: 1, good: 1 } },
        async (world) => {
          const run = await play(world, body, {}, {});
          expect(run.results.map(({ status, content }) => `${status}: ${content}`)).toEqual([
            "error: odd failed: hidden",
            "ok: good",
          ]);
        },
      );
    }

    for (const [who, declared, options] of [
      ["a guardrail", {}, { guardrails: [{ name: "g", before: at("odd", thrown) }] }],
      ["a hook", {}, { hooks: [{ name: "h", beforeTool: at("odd", thrown) }] }],
      ["an approver", { requiresApproval: true }, { approver: thrown }],
      ["an approval predicate", { requiresApproval: thrown }, { approver: () => ({ approve: true }) }],
    ] as const) {
      report(`C40: ${who} that throws ${what} counts against its own call`, { starts: { good: 1 } }, async (world) => {
        const run = await play(world, () => "never", declared, options);
        expect(run.results.map(({ status }) => status)).toEqual(["never_dispatched", "ok"]);
      });
    }

    report(
      `C40: an output gate that throws ${what} counts against its own call`,
      { starts: { odd: 1, good: 1 } },
      async (world) => {
        const run = await play(world, () => "done", {}, { hooks: [{ name: "h", afterTool: at("odd", thrown) }] });
        expect(run.results.map(({ status, mayHaveLanded }) => [status, mayHaveLanded])).toEqual([
          ["error", true],
          ["ok", false],
        ]);
      },
    );

    report(`C40: a model that throws ${what} fails the run, as a provider's failure`, { starts: {} }, async (world) => {
      const runner: AgentRunner = world.runner({ name: "odd", generate: async () => thrown() }, []);
      const run = await world.finish(world.run(runner));
      expect(errorOf(run)).toMatchObject({ code: "PROVIDER", message: "odd: hidden" });
    });

    report(
      `C40: instructions that throw ${what} fail the run, as a failure of configuration`,
      { starts: {} },
      async (world) => {
        const runner = world.runner(new ScriptedProvider(), []);
        const run = await world.finish(world.run(runner, agent("planner", { instructions: thrown })));
        expect(errorOf(run)).toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("hidden") });
      },
    );
  }
});
