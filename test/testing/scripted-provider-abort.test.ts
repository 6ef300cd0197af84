import { getEventListeners } from "node:events";
import { Deferred, FakeClock, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import type { ModelCall, ModelRequest, ModelResponse } from "../../src/protocol/model.ts";

const request: ModelRequest = { model: "m", instructions: "", messages: [], tools: [], settings: {} };
const askedWith = (signal: AbortSignal): ModelCall => ({
  signal,
  run: { id: "run_1", path: "0", turn: 1, agent: "planner", tenant: "default" },
});

describe("ScriptedProvider: a request ends at once when its signal aborts", () => {
  it("rejects with the signal's reason while a step is still thinking, whatever the step does later", async () => {
    for (const late of ["resolve", "reject"] as const) {
      const leaks = leakCheck({ lanes: () => [] });
      const answer = new Deferred<ModelResponse>();
      const stop = new AbortController();
      const provider = new ScriptedProvider(() => answer.promise);
      const asking = provider.generate(request, askedWith(stop.signal));
      stop.abort(new Error("enough"));
      await expect(new FakeClock().promptly(asking)).rejects.toThrow("enough");
      if (late === "resolve") answer.resolve(say("late"));
      else answer.reject(new Error("late"));
      await leaks.done();
    }
  });

  it("leaves no listener on the signal, however the step ends", async () => {
    const stop = new AbortController();
    const provider = new ScriptedProvider(
      async () => say("one"),
      () => {
        throw new Error("two");
      },
    );
    await provider.generate(request, askedWith(stop.signal));
    await expect(provider.generate(request, askedWith(stop.signal))).rejects.toThrow("two");
    expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
  });

  it("takes no step for a request whose signal has aborted before", async () => {
    const provider = new ScriptedProvider(say("one"));
    await expect(provider.generate(request, askedWith(AbortSignal.abort("before")))).rejects.toBe("before");
    expect(() => provider.assertFinished()).toThrow(/step 1 of 1 was never asked for/);
  });

  it("leaves no rejection unheard when the step aborts the signal itself and throws", async () => {
    const leaks = leakCheck({ lanes: () => [] });
    const stop = new AbortController();
    const provider = new ScriptedProvider(() => {
      stop.abort(new Error("aborted"));
      throw new Error("threw");
    });
    await expect(provider.generate(request, askedWith(stop.signal))).rejects.toThrow("threw");
    await leaks.done();
  });

  it("stops a stream between two pieces", async () => {
    const stop = new AbortController();
    const stream = new ScriptedProvider(say("a text of several pieces")).stream(request, askedWith(stop.signal));
    expect((await stream.next()).value).toMatchObject({ type: "text" });
    stop.abort("enough");
    await expect(stream.next()).rejects.toBe("enough");
  });
});
