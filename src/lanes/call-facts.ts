import type { Permit } from "./permit.ts";

/** What is told of a call: the text fields of its holder, where it has them, and the names it was asked for under. */
export interface CallFacts {
  tenant?: string;
  runId?: string;
  path?: string;
  callId?: string;
  tool?: string;
}

const FIELDS = ["tenant", "runId", "path", "callId", "tool"] as const;

/** Reads the facts of a call; a holder that throws when it is looked at tells nothing. */
export function factsOf(permit: Permit): CallFacts {
  const facts: CallFacts = {};
  if (permit.tenant !== undefined) facts.tenant = permit.tenant;
  if (permit.tool !== undefined) facts.tool = permit.tool;
  const { holder } = permit;
  if (typeof holder !== "object" || holder === null) return facts;
  for (const field of FIELDS) {
    try {
      const value = (holder as Record<string, unknown>)[field];
      if (typeof value === "string") facts[field] = value;
    } catch {
      // A hostile holder must not keep anybody from seeing the lanes.
    }
  }
  return facts;
}

/** A few words for a message: `search (call_1)`, and where it stands when that is below another call. */
export function describeCall(permit: Permit): string {
  const { tool, callId, path } = factsOf(permit);
  if (callId === undefined) return tool ?? "a call";
  const where = path === undefined || path === "0" ? callId : `${callId} in ${path}`;
  return tool === undefined ? where : `${tool} (${where})`;
}
