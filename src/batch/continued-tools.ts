import type { PendingCall } from "../protocol/gate.ts";
import type { Tool } from "../tools/tool.ts";

const continued = new WeakSet<Tool>();

/**
 * Marks a tool whose body only runs another agent: when that run waits for somebody, so does the call, and resuming
 * goes on with the run and not with the body (`Semantics 3.7`, `11.2`).
 */
export function markContinued<T extends Tool>(tool: T): T {
  continued.add(tool);
  return tool;
}

export function isContinued(tool: Tool): boolean {
  return continued.has(tool);
}

/** What the body of a continued tool throws when the run below it waits for somebody. */
export class WaitsBelow {
  readonly pending: readonly PendingCall[];

  constructor(pending: readonly PendingCall[]) {
    this.pending = pending;
  }
}
