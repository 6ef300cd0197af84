import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { defineTool, type RunEvent, type Tool, type ToolContext } from "lanekeeper";
import * as v from "valibot";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

const base = { name: "search", description: "" };

describe("args are inferred from every kind of schema", () => {
  it("zod, valibot, arktype and plain JSON Schema", () => {
    defineTool({
      ...base,
      input: z.object({ q: z.string() }),
      run: (args) => expectTypeOf(args).toEqualTypeOf<{ q: string }>(),
    });
    defineTool({
      ...base,
      input: toStandardJsonSchema(v.object({ q: v.string() })),
      run: (args) => expectTypeOf(args).toEqualTypeOf<{ q: string }>(),
    });
    defineTool({
      ...base,
      input: type({ q: "string" }),
      run: (args) => expectTypeOf(args).toEqualTypeOf<{ q: string }>(),
    });
    defineTool({
      ...base,
      input: { type: "object", properties: { q: { type: "string" }, n: { type: "integer" } }, required: ["q"] },
      run: (args) => {
        expectTypeOf(args.q).toEqualTypeOf<string>();
        expectTypeOf(args.n).toEqualTypeOf<number | undefined>();
      },
    });
  });

  it("annotating only ctx keeps args and carries the context", () => {
    interface App {
      db: string;
    }
    const tool = defineTool({
      ...base,
      input: z.object({ q: z.string() }),
      run: (args, ctx: ToolContext<App>) => {
        expectTypeOf(args).toEqualTypeOf<{ q: string }>();
        expectTypeOf(ctx.context).toEqualTypeOf<App>();
      },
    });
    expectTypeOf(tool).toExtend<Tool<{ q: string }, App>>();
  });

  it("events are a union on kind", () => {
    const event = {} as RunEvent;
    if (event.kind === "tool_dispatched") expectTypeOf(event.waitedSeconds.tool).toEqualTypeOf<number>();
  });
});
