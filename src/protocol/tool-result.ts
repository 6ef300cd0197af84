import type { LanekeeperError } from "../base/errors.ts";

/** How a call ended. `never_dispatched`: its body never started, so nothing can have happened. */
export type ToolStatus = "ok" | "error" | "indeterminate" | "never_dispatched";

/** The one outcome of one call (`Semantics 2.4`). */
export interface ToolResult {
  /** The id of the call. */
  callId: string;
  /** The tool's name. */
  name: string;
  status: ToolStatus;
  /** What the model is shown. */
  content: string;
  /** What the body returned, whole, as plain JSON; only with `ok`. */
  value?: unknown;
  /** Why not `ok`. */
  error?: LanekeeperError;
  /** Whether a side effect may exist although no success was reported (`Semantics 7.3`). */
  mayHaveLanded: boolean;
}
