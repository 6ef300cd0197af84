import fc from "fast-check";
import { type Agent, agentTool, defineTool, type ModelProvider } from "lanekeeper";
import { calls, leakCheck, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, setUp, tool } from "../runner/setting.ts";
import { fuzzed } from "./fuzzed.ts";
import { isMistake, isWhole, settled, wouldRefuse } from "./promises.ts";
import { type Answer, answer, hostile, Recipe } from "./recipe.ts";

const MAX_RESULT_BYTES = 1_000;

/** Where somebody else's code is asked. */
const DOORS = [
  "approver",
  "guardrail before",
  "guardrail after",
  "hook before",
  "hook after",
  "requiresApproval",
  "parallelSafe",
  "retry.when",
  "reducer",
  "instructions",
  "input schema",
  "output schema",
  "toInput",
  "onEvent",
  "run's onEvent",
  "onError",
  "perTenant",
] as const;
type Door = (typeof DOORS)[number];

/** Those that answer at once: a promise of theirs is no answer. */
const AT_ONCE: readonly Door[] = ["parallelSafe", "retry.when", "reducer", "toInput", "perTenant"];

/** What a door would understand, with something in it that it would not. */
const nearly = (what: fc.Arbitrary<Recipe>): fc.Arbitrary<Recipe> =>
  fc.oneof(
    { arbitrary: what, weight: 3 },
    ...["refuse", "endRun", "args", "result", "value", "issues"].map((key) =>
      what.map(({ text, make }) => new Recipe(`{ ${key}: ${text} }`, () => ({ [key]: make() }))),
    ),
    what.map(
      ({ text, make }) => new Recipe(`{ approve: true, args: ${text} }`, () => ({ approve: true, args: make() })),
    ),
    what.map(
      ({ text, make }) => new Recipe(`{ approve: false, reason: ${text} }`, () => ({ approve: false, reason: make() })),
    ),
    what.map(({ text, make }) => new Recipe(`{ issues: [${text}] }`, () => ({ issues: [make()] }))),
    what.map(
      ({ text, make }) =>
        new Recipe(`{ issues: [{ message: ${text}, path: [${text}] }] }`, () => ({
          issues: [{ message: make(), path: [make()] }],
        })),
    ),
    fc.constantFrom(
      new Recipe("{ suspend: true }", () => ({ suspend: true })),
      new Recipe("{ approve: true }", () => ({ approve: true })),
      new Recipe("true", () => true),
    ),
  );

const schema = (validate: (value: unknown) => unknown) => ({
  "~standard": {
    version: 1 as const,
    vendor: "fuzzed",
    validate: validate as never,
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
});

describe("Semantics 2.4, 2.12, 3.9, 6: whatever gates, schemas, reducers and listeners answer, each call has its result", () => {
  fuzzed(
    "answers of any kind at one or two doors, in both ways to dispatch; runs that wait are gone on with",
    { name: "gate answers", share: 0.2, seed: 20_250_103, atLeast: 30 },
    fc.record({
      odd: fc.array(
        fc
          .tuple(fc.constantFrom(...DOORS), answer(nearly(hostile())))
          .filter(([door, { how }]) => !AT_ONCE.includes(door) || how === "returns" || how === "throws"),
        { minLength: 1, maxLength: 2 },
      ),
      decision: fc.option(nearly(hostile()), { freq: 3 }),
      dispatch: fc.constantFrom("after_gates" as const, "eager" as const),
    }),
    async ({ odd, decision, dispatch }, count) => {
      const stop = new AbortController();
      const at = new Map<Door, Answer>(odd);
      /** What the door answers: the odd thing, or what is right. */
      const ask = (door: Door, right?: unknown): never => (at.has(door) ? at.get(door)?.give() : right) as never;
      const refused: string[] = [];
      const provider: ModelProvider = {
        name: "scripted",
        generate: async (request, { run }) => {
          refused.push(...wouldRefuse(request));
          if (run.agent === "below" || run.turn > 2) return say('{"done":true}');
          return calls({ write: {} }, { fails: {} }, { below: {} }, { write: { more: 1 } });
        },
      };
      const body = (_: unknown, ctx: { state: { set(key: string, value: unknown): void } }): string => {
        count.reached();
        ctx.state.set("notes", [1]);
        return "written";
      };
      const tools = [
        defineTool({
          name: "write",
          description: "Writes.",
          input: schema((value) => ask("input schema", { value })),
          requiresApproval: () => ask("requiresApproval", true),
          parallelSafe: () => ask("parallelSafe", true),
          run: body as never,
        }),
        tool(
          "fails",
          () => {
            throw new Error("broken");
          },
          { idempotent: true, retry: { attempts: 2, backoffSeconds: 0, when: () => ask("retry.when", true) } },
        ),
        agentTool(agent("below"), {
          description: "Asks below.",
          input: { type: "object" },
          toInput: () => ask("toInput", "Go."),
        }),
      ];
      const { runner, clock } = setUp(provider, tools, {
        dispatch,
        deadlines: { runSeconds: 100 },
        limits: { maxResultBytes: MAX_RESULT_BYTES },
        concurrency: at.has("perTenant") ? { perTenant: () => ask("perTenant") } : {},
        approver: () => ask("approver", { approve: true }),
        guardrails: [{ name: "g", before: () => ask("guardrail before"), after: () => ask("guardrail after") }],
        hooks: [{ name: "h", beforeTool: () => ask("hook before"), afterTool: () => ask("hook after") }],
        onEvent: () => ask("onEvent"),
        onError: () => ask("onError"),
      });
      const leaks = leakCheck(runner, { clock, signal: stop.signal });
      const planner = agent("planner", {
        instructions: () => ask("instructions", "Plan."),
        state: { notes: { initial: [], reduce: () => ask("reducer", [2]) } },
        ...(at.has("output schema") ? { freeText: undefined, output: schema(() => ask("output schema")) } : {}),
      } as object) as Agent;
      const options = { signal: stop.signal, onEvent: () => ask("run's onEvent") };
      const run = await settled(clock, runner.run(planner, "Go.", options), stop);
      isWhole(run, MAX_RESULT_BYTES);
      if (run.status === "suspended") {
        const decisions = Object.fromEntries(run.pending.map(({ id }) => [id, decision?.make() ?? { approve: true }]));
        const resumed = await settled(clock, runner.resume(run.id, { decisions } as object), stop).catch(isMistake);
        if (resumed !== undefined) isWhole(resumed, MAX_RESULT_BYTES);
      }
      expect(refused).toEqual([]);
      await clock.advance(100);
      await leaks.done();
    },
  );
});
