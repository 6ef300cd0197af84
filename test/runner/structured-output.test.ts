import { Agent, type OutputInvalidError } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { errorOf, faults, setUp, tool } from "./setting.ts";

const schema = z.object({ city: z.string(), nights: z.number().int().min(1) });
const judge = new Agent({ name: "judge", model: "m", output: schema });
const good = JSON.stringify({ city: "Kyoto", nights: 4 });

describe("Semantics 2.1: the output of an agent with a schema is JSON that fits it", () => {
  it("shows the model the schema, and gives what the schema's parse puts out", async () => {
    const trimmed = new Agent({
      name: "judge",
      model: "m",
      output: z.object({ city: z.string().transform((text) => text.trim()) }),
    });
    const provider = new ScriptedProvider(calls({ look: {} }), say(JSON.stringify({ city: " Kyoto " })));
    const { runner, clock } = setUp(provider, [tool("look", () => "seen")]);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(trimmed, "Where?"));
    expect(run).toMatchObject({ status: "completed", output: { city: "Kyoto" } });
    for (const { output } of provider.requests) {
      expect(output).toMatchObject({ type: "object", properties: { city: { type: "string" } }, required: ["city"] });
    }
    await leaks.done();
  });

  it("takes plain JSON Schema, too", async () => {
    const plain = new Agent({
      name: "judge",
      model: "m",
      output: { type: "object", properties: { fits: { type: "boolean" } }, required: ["fits"] },
    });
    const { runner } = setUp(new ScriptedProvider(say('{"fits":true}')), []);
    expect(await runner.run(plain, "Fits?")).toMatchObject({ status: "completed", output: { fits: true } });
  });

  it.each([
    ["no JSON", "Kyoto, four nights", "- expected JSON, got text that is not"],
    ["JSON in a fence", `\`\`\`json\n${good}\n\`\`\``, "- expected JSON, got text that is not"],
    ["JSON that does not fit", JSON.stringify({ city: "Kyoto", nights: 0 }), "- nights: "],
  ])("tells the model once what is wrong: %s", async (_, answer, told) => {
    const provider = new ScriptedProvider(say(answer), say(good));
    const { runner, clock } = setUp(provider, []);
    const leaks = leakCheck(runner, { clock, provider });
    const run = await clock.promptly(runner.run(judge, "Where?"));
    expect(run).toMatchObject({ status: "completed", output: { city: "Kyoto", nights: 4 } });
    expect(run.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    const repair = String(run.messages[2]?.content).split("\n");
    expect(repair[0]).toBe("Your answer does not fit the schema that it was asked for in:");
    expect(repair[1]?.startsWith(told)).toBe(true);
    expect(run.usage.totalTokens).toBe(4);
    await leaks.done();
  });

  it("fails with OutputInvalidError when the second answer does not fit either, and keeps both", async () => {
    const provider = new ScriptedProvider(say("no"), say(JSON.stringify({ city: 5, nights: 1 })));
    const { runner, clock } = setUp(provider, []);
    const run = await clock.promptly(runner.run(judge, "Where?"));
    const error = errorOf(run) as OutputInvalidError;
    expect(error).toMatchObject({ code: "OUTPUT_INVALID", agent: "judge" });
    expect(error.message).toMatch(/^agent "judge": expected an answer that fits its output schema; city: /);
    expect(run.messages).toHaveLength(4);
    expect(faults(run)).toEqual([]);
    provider.assertFinished();
  });

  it("asks for no repair when no turn is left for it", async () => {
    const once = new Agent({ name: "judge", model: "m", output: schema, maxTurns: 1 });
    const provider = new ScriptedProvider(say("no"));
    const { runner, clock } = setUp(provider, []);
    expect(errorOf(await clock.promptly(runner.run(once, "Where?"))).code).toBe("OUTPUT_INVALID");
    provider.assertFinished();
  });

  it("a check that never ends is ended with the run", async () => {
    const stuck = new Agent({
      name: "judge",
      model: "m",
      output: z.object({ city: z.string().refine(() => new Promise<boolean>(() => {})) }),
    });
    const controller = new AbortController();
    const { runner, clock } = setUp(new ScriptedProvider(say(good)), []);
    const running = runner.run(stuck, "Where?", { signal: controller.signal });
    await clock.settle();
    controller.abort();
    expect((await clock.promptly(running)).status).toBe("cancelled");
  });
});
