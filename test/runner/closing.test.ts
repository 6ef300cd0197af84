import type { AgentRunner, Run } from "lanekeeper";
import { calls, Gate, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, errorOf, faults, setUp, takes, tool } from "./setting.ts";

const planner = agent("planner");

function holding() {
  const gate = new Gate<string>();
  const provider = new ScriptedProvider(calls({ hold: {} }), say("done"));
  return { gate, provider, ...setUp(provider, [tool("hold", (_, { signal }) => gate.wait("hold", { signal }))]) };
}

describe("AgentRunner.close: refuses new runs, lets those at work go on for a while, then cancels them", () => {
  it("waits for runs, and leaves no timer when they end in time", async () => {
    const { runner, clock, gate, provider } = holding();
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(planner, "Go.");
    await clock.promptly(gate.arrived("hold"));
    let closed = false;
    const closing = runner.close({ drainSeconds: 5 }).then(() => {
      closed = true;
    });
    await clock.advance(4.9);
    expect(closed).toBe(false);
    gate.open("hold", "done");
    expect((await clock.promptly(running)).status).toBe("completed");
    await clock.promptly(closing);
    await leaks.done();
  });

  it("cancels what goes on after drainSeconds; 10 when nothing is said, none for 0", async () => {
    for (const [close, seconds] of [
      [(runner: AgentRunner) => runner.close({ drainSeconds: 2.5 }), 2.5],
      [(runner: AgentRunner) => runner.close(), 10],
      [(runner: AgentRunner) => runner[Symbol.asyncDispose](), 10],
      [(runner: AgentRunner) => runner.close({ drainSeconds: 0 }), 0],
    ] as const) {
      const { runner, clock, gate, provider } = holding();
      const leaks = leakCheck(runner, { clock });
      let settled: Run | undefined;
      void runner.run(planner, "Go.").then((run) => {
        settled = run;
      });
      await clock.promptly(gate.arrived("hold"));
      const closing = close(runner);
      if (seconds > 0) {
        await clock.advance(seconds - 0.001);
        expect(settled).toBeUndefined();
        await clock.advance(0.001);
      }
      await clock.promptly(closing);
      expect(errorOf(settled as Run)).toMatchObject({
        code: "CANCELLED",
        message: "the run was cancelled: its runner was closed",
      });
      expect(settled?.results).toMatchObject([
        {
          status: "indeterminate",
          content: "stopped in flight: the runner was closed. The side effect may have landed.",
        },
      ]);
      expect(faults(settled as Run)).toEqual([]);
      expect(provider.requests).toHaveLength(1);
      await leaks.done();
    }
  });

  it("refuses new runs from the moment it is asked, streams too, and lets nested ones go on", async () => {
    const gate = new Gate();
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: {} }), say("done")],
      worker: [say("ok")],
    });
    const said: string[] = [];
    const made = setUp(provider, [
      tool("sub", async (_, ctx) => {
        await gate.wait("sub");
        const worker = agent("worker", { tools: [] });
        await made.runner.run(worker, "Go.", { detached: true }).catch(({ message }) => said.push(message));
        return (await ctx.run(worker, "Go.")).status;
      }),
    ]);
    const { runner, clock } = made;
    const leaks = leakCheck(runner, { clock, provider });
    const running = runner.run(planner, "Go.");
    await clock.promptly(gate.arrived("sub"));
    const closing = runner.close();
    const refused = "runner: expected one that is open, got one that was closed";
    await expect(runner.run(planner, "Go.")).rejects.toMatchObject({ code: "CONFIGURATION", message: refused });
    expect(() => runner.stream(planner, "Go.")).toThrow(refused);
    gate.open("sub");
    await clock.promptly(closing);
    expect(await clock.promptly(running)).toMatchObject({ status: "completed", results: [{ content: "completed" }] });
    expect(said).toEqual([refused]);
    await expect(runner.run(planner, "Go.")).rejects.toMatchObject({ message: refused });
    await leaks.done();
  });

  it("closing twice is closing once", async () => {
    const { runner, clock, gate } = holding();
    const running = runner.run(planner, "Go.");
    await clock.promptly(gate.arrived("hold"));
    const first = runner.close({ drainSeconds: 3 });
    expect(runner.close({ drainSeconds: 0 })).toBe(first);
    await clock.advance(3);
    await clock.promptly(first);
    expect((await running).status).toBe("cancelled");
    await runner.close();
  });

  it("a runner at rest closes at once; one that is told to close by a run's first event waits for that run", async () => {
    const idle = setUp(new ScriptedProvider(), []);
    await idle.clock.promptly(idle.runner.close());
    let closing: Promise<void> | undefined;
    const order: string[] = [];
    const made = setUp(new ScriptedProvider(say("done")), [], {
      onEvent: ({ kind }) => {
        if (kind === "run_started") closing = made.runner.close().then(() => void order.push("closed"));
        if (kind === "run_completed") order.push("completed");
      },
    });
    await made.clock.promptly(made.runner.run(planner, "Go."));
    await made.clock.promptly(closing as Promise<void>);
    expect(order).toEqual(["completed", "closed"]);
  });

  it("does not wait for deaf bodies, whose places go back when they have ended", async () => {
    const provider = new ScriptedProvider(calls({ deaf: {} }));
    const { runner, clock } = setUp(provider, [tool("deaf", takes(20))], { concurrency: { perTool: { deaf: 2 } } });
    const running = runner.run(planner, "Go.");
    await clock.settle();
    await clock.promptly(runner.close({ drainSeconds: 0 }));
    expect((await running).status).toBe("cancelled");
    expect(runner.lanes().find(({ lane }) => lane === "tool:deaf")?.inFlight).toBe(1);
    expect(clock.pending.foreground).toBe(1);
    await clock.advance(20);
    expect(runner.lanes().find(({ lane }) => lane === "tool:deaf")?.inFlight).toBe(0);
    clock.assertIdle();
  });

  it("a drain that is no duration is refused, and closes nothing", async () => {
    const { runner } = setUp(new ScriptedProvider(say("done")), []);
    for (const bad of [-1, Number.NaN, "5", null]) {
      await expect(runner.close({ drainSeconds: bad as number })).rejects.toThrow(
        /^close\.drainSeconds: expected a number of seconds, 0 or more, got /,
      );
    }
    await expect(runner.close({ seconds: 1 } as object)).rejects.toThrow(/^close\.seconds: unknown option/);
    expect((await runner.run(planner, "Go.")).status).toBe("completed");
  });

  it("refuses a run that a listener asks for when it hears what close cancels", async () => {
    const { clock, provider } = holding();
    const asked: Promise<unknown>[] = [];
    const { runner } = setUp(provider, [tool("hold", takes(60))], {
      clock,
      onEvent: ({ kind }) => {
        if (kind === "tool_indeterminate")
          asked.push(runner.run(planner, "Go.").catch((error: Error) => error.message));
      },
    });
    const running = runner.run(planner, "Go.");
    await clock.settle();
    const closing = runner.close({ drainSeconds: 0 });
    expect((await clock.promptly(running)).status).toBe("cancelled");
    await clock.promptly(closing);
    expect(await Promise.all(asked)).toEqual(["runner: expected one that is open, got one that was closed"]);
  });
});
