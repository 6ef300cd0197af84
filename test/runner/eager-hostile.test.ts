import { agentTool } from "lanekeeper";
import { calls, Gate, leakCheck, Witness } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, faults, setUp, tool } from "./setting.ts";
import { StreamingModel, streamed } from "./streaming.ts";

const NAMES = ["__proto__", "constructor", "toString"];

describe("Semantics 3.10, 4.6, 4.8: early calls below early calls, deaf and cancelled while every model still streams", () => {
  it("at a bound of 1 one body works, each call has its result, and the places come back with the body", async () => {
    const gate = new Gate<string>();
    const witness = new Witness();
    const never = new Promise(() => {});
    const again = { idempotent: true };
    const leaf = tool("__proto__", (_, { callId }) => witness.body("leaf", () => gate.wait(callId)), again);
    const inner = agent("inner", { tools: ["__proto__"] });
    const middle = agent("middle", { tools: [agentTool(inner, { name: "constructor", description: "", ...again })] });
    const outer = agent("outer", { tools: [agentTool(middle, { name: "toString", description: "", ...again })] });
    const turn = (name: string) =>
      calls(...["hasOwnProperty", "valueOf"].map((id) => ({ id, name, args: { input: "x" } }))).toolCalls.flatMap(
        streamed,
      );
    const models = [...NAMES].reverse().map((name) => [...turn(name), never]);
    const model = new StreamingModel(
      models[0] ?? [],
      models[1] ?? [],
      models[2] ?? [],
      ...[1, 2, 3, 4].map(() => [never]),
    );
    const { runner, clock, heard } = setUp(model, [leaf], {
      dispatch: "eager",
      concurrency: { perTenant: 1, perTool: JSON.parse('{ "__proto__": 1 }') },
    });
    const controller = new AbortController();
    const leaks = leakCheck(runner, { clock, signal: controller.signal });
    const running = runner.run(outer, "Go.", { signal: controller.signal });
    await clock.settle();
    expect([witness.inFlight(), witness.peak()]).toEqual([1, 1]);
    controller.abort();
    const run = await clock.promptly(running);
    expect([run.status, faults(run)]).toEqual(["cancelled", []]);
    const count = (...kinds: string[]) => heard.filter(({ kind }) => kinds.includes(kind)).length;
    expect(count("tool_error", "tool_indeterminate", "tool_result")).toBe(count("tool_requested"));
    expect(run.results.map(({ callId }) => callId)).toEqual(["hasOwnProperty", "valueOf"]);
    gate.leaveOpen("late");
    await clock.settle();
    expect([witness.inFlight(), witness.starts()]).toEqual([0, 1]);
    await leaks.done();
  });
});
