import { LanekeeperError, ToolFailedError } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, outcomes, setUp, takes, tool } from "./setting.ts";

/** An error of somebody's own class, with fields that are no plain JSON. */
class HttpError extends LanekeeperError {
  readonly body: unknown;

  constructor(body: unknown) {
    super("upstream");
    this.body = body;
  }

  protected override details(): Record<string, unknown> {
    return { body: this.body };
  }
}
class Untold extends LanekeeperError {
  override toJSON(): never {
    throw new Error("not telling");
  }
}
const roundabout = (): Error => {
  const error = new ToolFailedError("round");
  error.cause = error;
  return error;
};
const mine = { nested: { mine: true } };
const hostile: [what: string, make: () => Error][] = [
  ["bytes", () => new HttpError(Buffer.from("503"))],
  ["a bigint", () => new HttpError(10n)],
  ["an object of the user's", () => new HttpError(mine)],
  ["a circle", () => new HttpError(hostile)],
  ["a cause that leads back", roundabout],
  ["a toJSON that throws", () => new Untold("quiet")],
];

describe("Semantics 2.4, 2.7, 2.12: an error is told as plain JSON, whatever class it is of", () => {
  it.each(hostile)("thrown by a body: %s", async (_, make) => {
    const boom = tool("boom", () => {
      throw make();
    });
    const provider = new ScriptedProvider(calls({ id: "a", name: "boom" }), say("done"));
    const { runner, clock } = setUp(provider, [boom]);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(outcomes(run)).toEqual([expect.stringMatching(/^a error: boom failed: (upstream|round|quiet)$/)]);
    expect(structuredClone(run.events)).toEqual(JSON.parse(JSON.stringify(run.events)));
    expect(Object.isFrozen(mine) || Object.isFrozen(mine.nested)).toBe(false);
    await leaks.done();
  });

  it.each(hostile)("thrown by a provider: %s", async (_, make) => {
    const provider = new ScriptedProvider(() => {
      throw make();
    });
    const { runner, clock } = setUp(provider, []);
    const leaks = leakCheck(runner, { clock });
    const run = await clock.promptly(runner.run(agent("planner"), "Go."));
    expect(run.status).toBe("failed");
    expect(structuredClone(run.events)).toEqual(JSON.parse(JSON.stringify(run.events)));
    await leaks.done();
  });

  it.each(hostile)("the reason of the caller's signal: %s", async (_, make) => {
    const provider = new ScriptedProvider(calls({ id: "a", name: "slow" }));
    const { runner, clock } = setUp(provider, [tool("slow", takes(1))]);
    const controller = new AbortController();
    const running = runner.run(agent("planner"), "Go.", { signal: controller.signal });
    await clock.settle();
    controller.abort(make());
    const run = await clock.promptly(running);
    expect(errorOf(run).code).toBe("CANCELLED");
    expect(faults(run)).toEqual([]);
    expect(structuredClone(run.events)).toEqual(JSON.parse(JSON.stringify(run.events)));
  });

  it("causes are told ten deep", () => {
    let error = new LanekeeperError("0");
    for (let depth = 1; depth <= 20; depth++) error = new LanekeeperError(String(depth), { cause: error });
    const told = JSON.stringify(error);
    expect(told).toContain('"message":"10"');
    expect(told).not.toContain('"message":"9"');
  });
});
