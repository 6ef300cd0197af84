import { describeThrown } from "../base/describe-thrown.ts";
import { LanekeeperError } from "../base/errors.ts";
import { ToolFailedError } from "./tool-errors.ts";

/**
 * The error of a call whose body threw (`Semantics 2.7`): names the tool, says what was thrown, keeps it as `cause`.
 *
 * Whatever was thrown is taken at its word and left as it is; only a {@link ToolFailedError} of the body's own carries
 * `mayHaveLanded` over (`Semantics 7.3`). Never throws.
 */
export function fromThrown(tool: string, thrown: unknown): ToolFailedError {
  return new ToolFailedError(`${tool} failed: ${describeThrown(thrown)}`, {
    tool,
    cause: thrown,
    mayHaveLanded: saysMayHaveLanded(thrown),
  });
}

function saysMayHaveLanded(thrown: unknown): boolean {
  try {
    return (
      LanekeeperError.is(thrown) && thrown.code === "TOOL_FAILED" && (thrown as ToolFailedError).mayHaveLanded === true
    );
  } catch {
    return false;
  }
}
