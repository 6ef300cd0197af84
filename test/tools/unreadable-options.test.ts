import { ConfigurationError, defineTool, ToolRegistry } from "lanekeeper";
import { describe, expect, it } from "vitest";

const boom = (): never => {
  throw new Error("boom");
};
const unreadable = new Proxy([], { get: boom });
const input = { type: "object" } as const;

describe("Semantics 2.5, 7.5: options of tools that throw when they are read are a mistake of the options", () => {
  it.each<[string, unknown, string]>([
    ["the options", new Proxy({}, { ownKeys: boom }), "tool: expected a value that can be read, got one that throws"],
    [
      "a member",
      {
        name: "search",
        description: "Looks.",
        input,
        get run() {
          return boom();
        },
      },
      "tool: expected a value that can be read, got one that throws",
    ],
    [
      "a member of a member",
      {
        name: "search",
        description: "Looks.",
        input,
        idempotent: true,
        retry: {
          attempts: 2,
          get backoffSeconds() {
            return boom();
          },
        },
      },
      'tool "search".retry: expected a value that can be read, got one that throws',
    ],
  ])("of defineTool: %s", (_what, options, message) => {
    expect(() => defineTool(options as never)).toThrow(new ConfigurationError(message));
  });

  it("of a registry: a list that throws, and a list with a hole in it", () => {
    expect(() => new ToolRegistry(unreadable)).toThrow(
      new ConfigurationError("tools: expected a value that can be read, got one that throws"),
    );
    const search = defineTool({ name: "search", description: "Looks.", input });
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is tried.
    expect(() => new ToolRegistry([search, , search] as never)).toThrow(
      new ConfigurationError("tools[1]: expected a tool, got undefined; make one with defineTool({ … })"),
    );
  });
});
