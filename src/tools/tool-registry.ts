import { ConfigurationError } from "../base/errors.ts";
import { readable, refuse } from "../base/option-checks.ts";
import { showValue } from "../base/show-value.ts";
import type { ToolSchema } from "../protocol/model.ts";
import type { Tool } from "./tool.ts";

/**
 * The tools of a runner or a batch, each under a name of its own, in the order given.
 *
 * @throws `CONFIGURATION` for two tools of one name and for anything that {@link defineTool} did not make.
 */
export class ToolRegistry<Context = unknown> implements Iterable<Tool> {
  /** Never there: it only carries the type of what the tools expect as `context`. */
  declare readonly "~context"?: (context: Context) => void;
  // A Map: `constructor` and `__proto__` are names like any other, and unknown unless a tool has them.
  readonly #tools = new Map<string, Tool>();

  // biome-ignore lint/suspicious/noExplicitAny: a list of tools holds tools of any arguments.
  constructor(tools: readonly Tool<any, Context>[] = []) {
    readable("tools", () => this.#addAll(tools));
  }

  #addAll(tools: unknown): void {
    if (!Array.isArray(tools)) refuse("tools", "an array of tools", tools);
    const places = new Map<string, number>();
    // Not `forEach`, which passes over holes.
    for (const [place, tool] of (tools as unknown[]).entries()) {
      if (!isTool(tool)) {
        throw new ConfigurationError(
          `tools[${place}]: expected a tool, got ${showValue(tool)}; make one with defineTool({ … })`,
        );
      }
      const taken = places.get(tool.name);
      if (taken !== undefined) {
        throw new ConfigurationError(
          `tools[${place}]: expected a name of its own, got ${JSON.stringify(tool.name)}, which tools[${taken}] has`,
        );
      }
      places.set(tool.name, place);
      this.#tools.set(tool.name, tool);
    }
  }

  /** The tool of that name; `undefined` when there is none. */
  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** Whether there is a tool of that name. */
  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** The names, in the order given. */
  names(): string[] {
    return [...this.#tools.keys()];
  }

  /** What a model is shown of each tool: nothing about how it is run. */
  schemas(): ToolSchema[] {
    return [...this].map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  }

  [Symbol.iterator](): Iterator<Tool> {
    return this.#tools.values();
  }
}

/** Whether `value` has the shape of a tool; another copy of the package may have made it. Never throws. */
export function isTool(value: unknown): value is Tool {
  try {
    const tool = value as Partial<Tool> | null;
    return (
      typeof tool === "object" &&
      tool !== null &&
      typeof tool.name === "string" &&
      typeof tool.description === "string" &&
      typeof tool.inputSchema === "object" &&
      typeof tool.idempotent === "boolean" &&
      typeof tool.validate === "function" &&
      (tool.run === undefined || typeof tool.run === "function")
    );
  } catch {
    return false;
  }
}
