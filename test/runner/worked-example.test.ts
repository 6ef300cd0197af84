import { calls, leakCheck, ScriptedProvider, say, Witness } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, kinds, outcomes, setUp, takes, tool } from "./setting.ts";

const FOUR = calls({ lookup: { q: "a" } }, { lookup: { q: "b" } }, { lookup: { q: "c" } }, { lookup: { q: "d" } });

describe("Semantics 4.3, 5.1, 7.1, 7.2: the figures that the design promises, in virtual milliseconds", () => {
  it("four lookups of 100 ms in one turn take 100 ms", async () => {
    const witness = new Witness();
    const provider = new ScriptedProvider(FOUR, say("done"));
    const { runner, clock } = setUp(provider, [tool("lookup", witness.wrap("lookup", takes(0.1)))]);
    clock.autoAdvance = true;
    const leaks = leakCheck(runner, { clock, provider });
    await runner.run(agent("planner"), "Go.");
    expect([clock.monotonic(), witness.peak()]).toEqual([100, 4]);
    await leaks.done();
  });

  it("the same four, two at a time as the agent narrows it, take 200 ms and never have more than two alive", async () => {
    const witness = new Witness();
    const provider = new ScriptedProvider(FOUR, say("done"));
    const { runner, clock } = setUp(provider, [tool("lookup", witness.wrap("lookup", takes(0.1)))]);
    clock.autoAdvance = true;
    const leaks = leakCheck(runner, { clock, provider });
    await runner.run(agent("planner", { concurrency: { maxConcurrentTools: 2 } }), "Go.");
    expect([clock.monotonic(), witness.peak()]).toEqual([200, 2]);
    await leaks.done();
  });

  it("an agent that asks for more than the runner allows gets what the runner allows", async () => {
    const witness = new Witness();
    const provider = new ScriptedProvider(FOUR, say("done"));
    const { runner, clock } = setUp(provider, [tool("lookup", witness.wrap("lookup", takes(0.1)))], {
      concurrency: { maxConcurrentTools: 1 },
    });
    clock.autoAdvance = true;
    await runner.run(agent("planner", { concurrency: { maxConcurrentTools: 4, perTool: { lookup: 4 } } }), "Go.");
    expect([clock.monotonic(), witness.peak()]).toEqual([400, 1]);
  });

  it("one failure of four loses its own call and nothing else", async () => {
    const provider = new ScriptedProvider(FOUR, say("done"));
    const { runner, clock } = setUp(provider, [
      tool("lookup", async ({ q }, ctx) => {
        await takes(0.1)({}, ctx);
        if (q === "b") throw new Error("no such place");
        return `found ${q}`;
      }),
    ]);
    clock.autoAdvance = true;
    const leaks = leakCheck(runner, { clock, provider });
    const run = await runner.run(agent("planner"), "Go.");
    expect(clock.monotonic()).toBe(100);
    expect(outcomes(run)).toEqual([
      "t1_lookup_0 ok: found a",
      "t1_lookup_1 error: lookup failed: no such place",
      "t1_lookup_2 ok: found c",
      "t1_lookup_3 ok: found d",
    ]);
    await leaks.done();
  });

  it("a tool that hangs is cut off by its own ceiling while its siblings answer", async () => {
    const provider = new ScriptedProvider(calls({ lookup: {} }, { hang: {} }, { lookup: {} }), say("done"));
    const { runner, clock, heard } = setUp(
      provider,
      [tool("lookup", takes(0.1)), tool("hang", () => new Promise(() => {}), { idempotent: true })],
      { concurrency: { perToolSeconds: { hang: 0.25 } } },
    );
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(0.1);
    expect(kinds(heard).filter((kind) => kind === "tool_completed")).toHaveLength(2);
    await clock.advance(0.15);
    const run = await clock.promptly(running);
    expect(run.results).toMatchObject([
      { status: "ok" },
      { status: "error", error: { code: "TOOL_TIMED_OUT", tool: "hang", ceilingSeconds: 0.25 }, mayHaveLanded: false },
      { status: "ok" },
    ]);
    expect(run.status).toBe("completed");
  });

  it("a tool that depends on order runs alone, after what came before and before what comes after", async () => {
    const witness = new Witness();
    const provider = new ScriptedProvider(
      calls({ lookup: {} }, { lookup: {} }, { booking: {} }, { lookup: {} }, { lookup: {} }),
      say("done"),
    );
    const { runner, clock } = setUp(provider, [
      tool("lookup", witness.wrap("lookup", takes(0.1))),
      tool("booking", witness.wrap("booking", takes(0.1)), { parallelSafe: false }),
    ]);
    clock.autoAdvance = true;
    const leaks = leakCheck(runner, { clock, provider });
    await runner.run(agent("planner"), "Go.");
    expect(clock.monotonic()).toBe(300);
    expect(witness.order).toEqual([
      ...["lookup starts", "lookup starts", "lookup ends", "lookup ends"],
      ...["booking starts", "booking ends"],
      ...["lookup starts", "lookup starts", "lookup ends", "lookup ends"],
    ]);
    await leaks.done();
  });

  it("a cap of 1 with a ceiling of 30 ms and deaf bodies of 300 ms never has more than one alive", async () => {
    const witness = new Witness();
    const provider = new ScriptedProvider(calls({ deaf: {} }, { deaf: {} }, { deaf: {} }), say("done"));
    const { runner, clock } = setUp(provider, [tool("deaf", witness.wrap("deaf", takes(0.3)))], {
      concurrency: { perTool: { deaf: 1 }, perToolSeconds: { deaf: 0.03 } },
    });
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(agent("planner"), "Go.");
    await clock.advance(0.63);
    const run = await clock.promptly(running);
    expect(run.results.map(({ error }) => error?.code)).toEqual(["TOOL_TIMED_OUT", "TOOL_TIMED_OUT", "TOOL_TIMED_OUT"]);
    expect([witness.peak(), witness.starts(), witness.inFlight()]).toEqual([1, 3, 1]);
    await clock.advance(0.27);
    expect(witness.inFlight()).toBe(0);
    await leaks.done();
  });

  it("16 slow bookings in a narrow lane do not hold up 16 quick searches of the same turn", async () => {
    const ended: Record<string, number[]> = { booking: [], search: [] };
    const provider = new ScriptedProvider(
      calls(
        ...Array.from({ length: 16 }, () => ({ booking: {} })),
        ...Array.from({ length: 16 }, () => ({ search: {} })),
      ),
      say("done"),
    );
    const timed = (name: string, seconds: number) =>
      tool(name, async (args, ctx) => {
        await takes(seconds)(args, ctx);
        ended[name]?.push(ctx.clock.monotonic());
      });
    const { runner, clock } = setUp(provider, [timed("booking", 0.05), timed("search", 0.005)], {
      concurrency: { maxConcurrentTools: 8, perTool: { booking: 1, search: 4 } },
    });
    clock.autoAdvance = true;
    const leaks = leakCheck(runner, { clock, provider });
    await runner.run(agent("planner"), "Go.");
    expect(ended.search).toEqual([5, 10, 15, 20].flatMap((at) => [at, at, at, at]));
    expect(ended.booking).toEqual(Array.from({ length: 16 }, (_, at) => (at + 1) * 50));
    await leaks.done();
  });

  it("a call that needs two busy lanes is not starved by those that need one", async () => {
    // Its tenant's place comes free at 100, 200, … and its resource's at 50, 150, …: never both at once by themselves.
    const started: [string, number][] = [];
    const many = (name: string) => Array.from({ length: 40 }, () => ({ [name]: {} }));
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ left: {} }, { both: {} }, ...many("left")), say("done")],
      other: [calls({ first: {} }, ...many("right")), say("done")],
    });
    const timed = (name: string, seconds: number, resource?: string) => {
      const body = takes(seconds);
      const noted: typeof body = (args, ctx) => {
        started.push([name, ctx.clock.monotonic()]);
        return body(args, ctx);
      };
      return tool(name, noted, { resource });
    };
    const { runner, clock } = setUp(
      provider,
      [timed("left", 0.1), timed("right", 0.1, "r"), timed("first", 0.05, "r"), timed("both", 0.1, "r")],
      { concurrency: { perTenant: 1, perResource: { r: 1 } } },
    );
    clock.autoAdvance = true;
    const leaks = leakCheck(runner, { clock, provider });
    const rights = runner.run(agent("other"), "Go.", { tenant: "other" });
    await runner.run(agent("planner"), "Go.", { tenant: "acme" });
    await rights;
    const both = started.find(([name]) => name === "both")?.[1] as number;
    // Passed over 8 times; then its lanes are kept until each has freed a place. Else it would go last, after 4 s.
    expect(both).toBeLessThanOrEqual(1_000);
    await leaks.done();
  });
});
