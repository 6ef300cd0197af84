import type { RunEvent } from "lanekeeper";
import { calls, ScriptedProvider } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent } from "../runner/setting.ts";
import { report } from "./report-world.ts";

const asked = calls(...["a", "b", "c"].map((id) => ({ id, name: "work" })));

describe("Semantics 2.3, 2.12: everybody who listens hears events in the order in which they happened", () => {
  for (const kind of ["tool_dispatched", "tool_completed", "tool_result"] as const) {
    const starts = { work: kind === "tool_dispatched" ? 1 : 3 };
    for (const who of ["the run's listener", "a stream's reader"]) {
      report(
        `C62: when a listener stops the run at ${kind}, ${who} hears of that first and then of the stop`,
        { starts },
        async (world) => {
          const controller = new AbortController();
          const recorded: RunEvent[] = [];
          const onEvent = (event: RunEvent) => {
            if (event.kind === kind) controller.abort();
          };
          const work = world.tool("work", () => "done");
          const runner = world.runner(new ScriptedProvider(asked), [work], { onEvent });
          const { signal } = controller;
          if (who.startsWith("a stream")) {
            const stream = runner.stream(agent("planner"), "Go.", { signal });
            void world.keep(stream.run);
            for await (const event of stream) recorded.push(event);
          } else {
            const record = (event: RunEvent) => void recorded.push(event);
            await world.finish(world.run(runner, agent("planner"), "Go.", { signal, onEvent: record }));
          }
          expect(recorded.map(({ seq }) => seq)).toEqual(recorded.map((_, at) => at));
        },
      );
    }
  }
});
