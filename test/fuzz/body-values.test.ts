import fc from "fast-check";
import type { ToolContext } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, setUp, tool } from "../runner/setting.ts";
import { fuzzed } from "./fuzzed.ts";
import { isTold, isWhole, settled, shape } from "./promises.ts";
import { answer, hostile } from "./recipe.ts";

/** What a body does with its context, before it answers. */
const USES = ["state", "progress", "log", "run", "run with options"] as const;
const body = fc.record({
  uses: fc.array(fc.record({ use: fc.constantFrom(...USES), what: hostile(), more: hostile() }), { maxLength: 2 }),
  answer: answer(),
});

async function use(ctx: ToolContext, name: (typeof USES)[number], what: unknown, more: unknown): Promise<void> {
  try {
    if (name === "state") {
      ctx.state.set("notes", what);
      ctx.state.set(what as string, more);
      ctx.state.get(what as string);
      ctx.state.delete(more as string);
    }
    if (name === "progress") ctx.progress(what as number, more as string);
    if (name === "log") ctx.log(what as string, more as object as Record<string, unknown>);
    if (name === "run") await ctx.run(what as never, more as string);
    if (name === "run with options")
      await ctx.run(agent("below", { provider: new ScriptedProvider(say("below")) }), what as string, more as object);
  } catch (error) {
    isTold(error);
  }
}

describe("Semantics 2.4, 2.6, 2.7, 2.8: whatever bodies return and throw, each call has one result, and nothing else is hurt", () => {
  fuzzed(
    "values and errors of any kind, at once and later, with a context that is used in any way",
    { name: "body values", share: 0.2, seed: 20_250_102, atLeast: 30 },
    fc.record({
      bodies: fc.array(body, { minLength: 1, maxLength: 3 }),
      names: fc.array(fc.constantFrom("read", "write", "retried"), { minLength: 3, maxLength: 3 }),
      dispatch: fc.constantFrom("after_gates" as const, "eager" as const),
      onToolError: fc.constantFrom("surface_to_model" as const, "fail_run" as const),
      maxResultBytes: fc.constantFrom(1, 50, 1_000),
      streams: fc.boolean(),
    }),
    async ({ bodies, names, dispatch, onToolError, maxResultBytes, streams }, count) => {
      const stop = new AbortController();
      const given: { value: unknown; before: unknown }[] = [];
      const faults: unknown[] = [];
      const useAll = async (uses: (typeof bodies)[number]["uses"], ctx: ToolContext): Promise<void> => {
        for (const { use: name, what, more } of uses) {
          const values = [what.make(), more.make()];
          given.push(...values.map((value) => ({ value, before: shape(value) })));
          await use(ctx, name, values[0], values[1]).catch((fault: unknown) => faults.push(fault));
        }
      };
      const run = ({ at }: Record<string, unknown>, ctx: ToolContext): unknown => {
        count.reached();
        const { uses, answer } = bodies[at as number] as (typeof bodies)[number];
        // At once where it can: an async body would have its own promise follow what it returns.
        return uses.length === 0 ? answer.give() : useAll(uses, ctx).then(() => answer.give());
      };
      const retry = { attempts: 2, backoffSeconds: 0 };
      const tools = [
        tool("read", run, { idempotent: true }),
        tool("write", run, { abandonSeconds: 1 }),
        tool("retried", run, { idempotent: true, retry }),
      ];
      const asked = bodies.map((_, at) => ({ [names[at] as string]: { at } }));
      const provider = new ScriptedProvider(calls(...asked), say("Done."));
      const { runner, clock } = setUp(provider, tools, {
        dispatch,
        limits: { maxResultBytes },
        concurrency: { perToolSeconds: { read: 5, write: 5, retried: 5 }, abandonSeconds: 1 },
      });
      const leaks = leakCheck(runner, { clock, signal: stop.signal });
      const planner = agent("planner", { onToolError });
      const running = streams
        ? runner.stream(planner, "Go.", { signal: stop.signal }).run
        : runner.run(planner, "Go.", { signal: stop.signal });
      const ended = await settled(clock, running, stop);
      expect(faults).toEqual([]);
      isWhole(ended, maxResultBytes);
      expect(ended.results).toHaveLength(bodies.length);
      if (onToolError === "surface_to_model") {
        expect(ended.status).toBe("completed");
        provider.assertFinished();
      }
      for (const { value, before } of given) expect(shape(value), "what was given").toEqual(before);
      await clock.advance(100);
      await leaks.done();
    },
  );
});
