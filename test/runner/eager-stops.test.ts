import type { RunEvent } from "lanekeeper";
import { calls } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { agent, faults, kinds, setUp, tool, untilStopped } from "./setting.ts";
import { ends, StreamingModel, streamed } from "./streaming.ts";

const EAGER = { dispatch: "eager" } as const;
const again = { idempotent: true } as const;

const two = () => calls({ id: "a", name: "search", args: { q: "a" } }, { id: "b", name: "search", args: { q: "b" } });
const play = async (
  pieces: readonly never[] | readonly unknown[],
  onEvent: (event: RunEvent, stop: () => void) => void,
) => {
  const c = new AbortController();
  const { runner, clock } = setUp(new StreamingModel(pieces as never), [tool("search", untilStopped, again)], EAGER);
  const onEach = (event: RunEvent) => onEvent(event, () => c.abort());
  return clock.promptly(runner.run(agent("planner"), "Go.", { signal: c.signal, onEvent: onEach }));
};
const onB = (event: RunEvent, stop: () => void) => {
  if (event.kind === "tool_requested" && event.callId === "b") stop();
};
describe("Semantics 2.4, 3.10, 8: wherever a run stops while its model streams, each call has its one result", () => {
  it("2.4: stopped on hearing of a call that streamed: it has its result", async () => {
    const run = await play([...two().toolCalls.flatMap(streamed), ends(two())], onB);
    expect(kinds(run.events, "b")).toEqual(["tool_requested", "tool_error"]);
    expect(run.results.map(({ callId }) => callId)).toEqual(["a", "b"]);
  });
  it("2.4: stopped on hearing of a call that had not streamed: the transcript is whole", async () => {
    expect(faults(await play([...streamed(two().toolCalls[0] as never, 0), ends(two())], onB))).toEqual([]);
  });
  it("2.4: a signal that aborts between the response and its calls: the transcript is whole", async () => {
    const bad: number[] = [];
    for (let n = 0; n < 120; n++) {
      const c = new AbortController();
      const model = new StreamingModel([...streamed(two().toolCalls[0] as never, 0), ends(two())]);
      const { runner, clock } = setUp(model, [tool("search", untilStopped, again)], EAGER);
      const running = runner.run(agent("planner"), "Go.", { signal: c.signal });
      for (let i = 0; i < n; i++) await null;
      c.abort();
      if (faults(await clock.promptly(running)).length > 0) bad.push(n);
    }
    expect(bad).toEqual([]);
  });
});
