import { ConfigurationError } from "../base/errors.ts";
import type { ConcurrencyConfig } from "../lanes/concurrency-config.ts";

/**
 * Refuses a bound or a ceiling for a tool that is not there: misspelt, it would bound nothing (`Semantics 4.1`).
 *
 * @throws ConfigurationError (`CONFIGURATION`) naming the path and the tools that are there.
 */
export function checkToolNames(path: string, config: ConcurrencyConfig, names: Iterable<string>): void {
  const known = new Set(names);
  for (const field of ["perTool", "perToolSeconds"] as const) {
    for (const name of Object.keys(config[field])) {
      if (known.has(name)) continue;
      const there = known.size === 0 ? "there are none" : `the tools are ${[...known].join(", ")}`;
      throw new ConfigurationError(`${path}.${field}.${name}: expected the name of a tool; ${there}`);
    }
  }
}
