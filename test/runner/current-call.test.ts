import { agentTool, currentCall, type ToolContext } from "lanekeeper";
import { calls, Deferred, Gate, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, setUp, tool } from "./setting.ts";

describe("Semantics 4.11, 9.3: currentCall() is the call in whose body the code runs", () => {
  it("in a body and anywhere below it, the body's own context; undefined outside of any", async () => {
    const gate = new Gate();
    const seen: unknown[] = [];
    const provider = new ScriptedProvider((): ReturnType<typeof calls> => {
      seen.push(currentCall());
      return calls({ look: {} }, { look: {} });
    }, say("done"));
    const below = async (ctx: ToolContext) => {
      await Promise.resolve();
      seen.push(currentCall() === ctx);
    };
    const { runner, clock } = setUp(
      provider,
      [
        tool("look", async (_, ctx) => {
          seen.push(currentCall() === ctx);
          await gate.wait(ctx.callId);
          await below(ctx);
        }),
      ],
      {
        concurrency: { perTool: { look: 1 } },
        onEvent: ({ kind }) => kind === "run_started" && seen.push(currentCall()),
      },
    );
    expect(currentCall()).toBeUndefined();
    const running = runner.run(agent("planner"), "Go.");
    await clock.promptly(gate.arrived("t1_look_0"));
    gate.open("t1_look_0");
    // The second was let in by the first one's end, and sees its own context all the same.
    await clock.promptly(gate.arrived("t1_look_1"));
    gate.open("t1_look_1");
    await clock.promptly(running);
    expect(currentCall()).toBeUndefined();
    expect(seen).toEqual([undefined, undefined, true, true, true, true]);
  });

  it("in a nested run the nested call; in its model's request the call that runs it", async () => {
    const seen: unknown[] = [];
    const note = () => void seen.push([currentCall()?.path, currentCall()?.callId, currentCall()?.depth]);
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ sub: { input: "x" } }), say("done")],
      worker: [
        () => {
          note();
          return calls({ leaf: {} });
        },
        say("ok"),
      ],
    });
    const sub = agentTool(agent("worker", { tools: ["leaf"] }), { name: "sub", description: "" });
    const { runner } = setUp(provider, [tool("leaf", note), sub]);
    await runner.run(agent("planner"), "Go.");
    expect(seen).toEqual([
      ["0", "t1_sub_0", 0],
      ["0/1.0", "t1_leaf_0", 1],
    ]);
  });

  it("is still there, and inert, in what a body left behind; a detached run is outside", async () => {
    const later = new Gate();
    const seen = new Deferred<ToolContext | undefined>();
    const detached = new Deferred<unknown>();
    const provider = ScriptedProvider.byAgent({
      planner: [calls({ start: {} }), say("done")],
      worker: [
        () => {
          detached.resolve(currentCall());
          return say("ok");
        },
      ],
    });
    const made = setUp(provider, [
      tool("start", async () => {
        void later.wait("later").then(() => seen.resolve(currentCall()));
        await made.runner.run(agent("worker"), "Go.", { detached: true });
      }),
    ]);
    const { runner, clock } = made;
    await clock.promptly(runner.run(agent("planner"), "Go."));
    later.open("later");
    const left = await clock.promptly(seen.promise);
    expect(left?.callId).toBe("t1_start_0");
    await expect(left?.run(agent("worker"), "Go.")).rejects.toMatchObject({ code: "CONFIGURATION" });
    expect(await detached.promise).toBeUndefined();
  });
});
