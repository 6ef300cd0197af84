import type { LanekeeperError } from "../base/errors.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import { ToolDeniedError, ToolIndeterminateError, ToolStoppedError } from "../tools/tool-errors.ts";
import type { StopReason } from "./stop.ts";

/** Whose verdict it is. */
export interface CallName {
  /** The call's id in the transcript. */
  readonly id: string;
  /** The tool's name, as the model wrote it. */
  readonly name: string;
}

/** What every result ends with whose side effect nobody can rule out (`Semantics 7.3`). */
const MAY_HAVE_LANDED = "The side effect may have landed.";

/** The call's body never started: nothing can have happened. */
export function neverDispatched(call: CallName, why: string, error?: LanekeeperError): ToolResult {
  const content = `never dispatched: ${why}`;
  return {
    callId: call.id,
    name: call.name,
    status: "never_dispatched",
    content,
    error: error ?? new ToolStoppedError(call.name, content),
    mayHaveLanded: false,
  };
}

/** A person, a guardrail or a hook said no (`Semantics 3.3`). */
export function denied(call: CallName, reason?: string): ToolResult {
  const error = new ToolDeniedError(call.name, reason);
  return neverDispatched(call, error.message, error);
}

/** The call failed; `mayHaveLanded` when it was dispatched and did not say itself how it ended. */
export function failed(call: CallName, error: LanekeeperError, mayHaveLanded = false): ToolResult {
  return {
    callId: call.id,
    name: call.name,
    status: "error",
    content: mayHaveLanded ? `${sentence(error.message)} ${MAY_HAVE_LANDED}` : error.message,
    error,
    mayHaveLanded,
  };
}

/** The call was in flight when the batch stopped (`Semantics 8`). */
export function stoppedInFlight(call: CallName, idempotent: boolean, reason: StopReason): ToolResult {
  const stopped = sentence(`stopped in flight: ${reason.why}`);
  const content = `${stopped} ${idempotent ? "Safe to call again." : MAY_HAVE_LANDED}`;
  const cause = { cause: reason.error };
  return {
    callId: call.id,
    name: call.name,
    status: idempotent ? "error" : "indeterminate",
    content,
    error: idempotent
      ? new ToolStoppedError(call.name, content, cause)
      : new ToolIndeterminateError(call.name, content, cause),
    mayHaveLanded: !idempotent,
  };
}

/** The call was dispatched by a process that has ended, and nothing tells how it ended (`Semantics 11.2`). */
export function outcomeUnknown(call: CallName): ToolResult {
  const content = `outcome unknown: the process that ran it has ended. ${MAY_HAVE_LANDED}`;
  return {
    callId: call.id,
    name: call.name,
    status: "indeterminate",
    content,
    error: new ToolIndeterminateError(call.name, content),
    mayHaveLanded: true,
  };
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
