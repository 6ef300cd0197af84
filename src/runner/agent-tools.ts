import { ConfigurationError } from "../base/errors.ts";
import { checkToolNames } from "../batch/check-tool-names.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolRegistry } from "../tools/tool-registry.ts";
import type { Agent } from "./agent.ts";

/**
 * The tools that an agent's runs may call: those it names, or all of the runner's.
 *
 * It may narrow tools that only agents below it have: of the runner, and `others`.
 *
 * @throws ConfigurationError (`CONFIGURATION`) for a name that no tool of the runner has, for another tool under such a
 * name, and for a bound on a tool that nobody has.
 */
export function toolsOf(agent: Agent<unknown>, runners: ToolRegistry, others: Iterable<string>): ToolRegistry {
  const at = `agent ${JSON.stringify(agent.name)}`;
  const tools =
    agent.tools === undefined
      ? runners
      : new ToolRegistry(agent.tools.map((tool, place) => find(tool, `${at}.tools[${place}]`)));
  checkToolNames(`${at}.concurrency`, agent.concurrency, [...tools.names(), ...runners.names(), ...others]);
  return tools;

  function find(tool: string | Tool, path: string): Tool {
    const name = typeof tool === "string" ? tool : tool.name;
    const known = runners.get(name);
    if (typeof tool !== "string") {
      if (known === undefined || known === tool) return tool;
      throw new ConfigurationError(`${path}: expected one tool of a name, got a second ${JSON.stringify(name)}`);
    }
    if (known !== undefined) return known;
    const names = runners.names();
    const there = names.length === 0 ? "has none" : `has ${names.join(", ")}`;
    throw new ConfigurationError(
      `${path}: expected the name of a tool, got ${JSON.stringify(name)}; the runner ${there}`,
    );
  }
}
