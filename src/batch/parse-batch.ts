import type { ToolCall } from "../protocol/message.ts";
import { parseArguments } from "../tools/parse-arguments.ts";
import { ToolInputError, ToolNotFoundError } from "../tools/tool-errors.ts";
import { Call, type CallPlace } from "./call.ts";
import { assignCallIds } from "./call-ids.ts";
import type { BatchRequest } from "./run-calls.ts";
import type { RunScope } from "./run-scope.ts";
import { failed, neverDispatched, outcomeUnknown } from "./verdict.ts";

/**
 * Reads a turn's calls (`Semantics 2.5`, `2.9`, `2.10`): a bad one has its verdict when this returns, and the others are
 * ready for their gates. `early` are the first ones, which were read before.
 */
export function parseBatch(scope: RunScope, request: BatchRequest, early: readonly Call[]): Call[] {
  const read = Array.from(request.calls, readOnce);
  const ids = assignCallIds(read, request.turn, request.seenIds);
  return read.map((asked, position) => {
    const known = early[position];
    if (known !== undefined) return known;
    const place = { turn: request.turn, position, of: read.length };
    return parseCall(scope, request, place, asked, vendorCall(asked, ids[position] as string));
  });
}

/** Reads one call: a bad one has its verdict when this returns. */
export function parseCall(
  scope: RunScope,
  { refusal, early }: Pick<BatchRequest, "refusal" | "early">,
  place: CallPlace,
  asked: Pick<ToolCall, "name">,
  { call: kept, problem }: VendorCall,
): Call {
  const { position, of } = place;
  const most = scope.limits.maxCallsPerTurn;
  const tool = typeof asked.name === "string" ? scope.tools.get(asked.name) : undefined;
  const call = new Call(scope, place, kept, tool, early?.section);
  const { known } = call;
  if (known?.settled !== undefined) {
    call.restore(known.settled.result);
    return call;
  }
  if (known === undefined) {
    // Nobody knows of how many while the model still asks, and what is told must not depend on when that was.
    const detail = `asked for as call ${position + 1}${early === undefined ? ` of ${of}` : ""}`;
    call.tell({ kind: "tool_requested", detail });
  }
  // One that went out before a resume did so, whatever has been declared since.
  if (known?.begun !== undefined) {
    if (tool === undefined) call.settle(outcomeUnknown(call));
  } else if (refusal !== undefined) call.settle(neverDispatched(call, refusal));
  else if (position >= most) call.settle(neverDispatched(call, `a turn runs at most ${most} calls`));
  else if (tool === undefined) call.settle(failed(call, new ToolNotFoundError(asked.name, scope.tools.names())));
  else if (problem !== undefined) {
    call.settle(failed(call, new ToolInputError(kept.name, [{ path: "", message: problem }])));
  }
  return call;
}

/** A call as it is now: a getter is asked once. What cannot be read is missing; arguments that cannot are never `{}`. */
function readOnce(call: ToolCall): ToolCall {
  const read = (key: keyof ToolCall, otherwise: (threw: unknown) => unknown): unknown => {
    try {
      return call[key];
    } catch (threw) {
      return otherwise(threw);
    }
  };
  const missing = (): undefined => undefined;
  const unreadable = (threw: unknown): unknown => ({
    toJSON() {
      throw threw;
    },
  });
  return { id: read("id", missing), name: read("name", missing), args: read("args", unreadable) } as ToolCall;
}

/** A call as vendors accept it in a transcript, with its arguments in input form; and what was wrong with those. */
export interface VendorCall {
  readonly call: ToolCall & { args: Record<string, unknown> };
  readonly problem: string | undefined;
}

export function vendorCall({ name, args }: ToolCall, id: string): VendorCall {
  const parsed = parseArguments(args);
  return {
    call: { id, name: vendorName(name), args: parsed.ok ? parsed.input : parsed.kept },
    problem: parsed.ok ? undefined : parsed.problem,
  };
}

const VENDOR_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** A name that no tool can have is kept as near as vendors accept it: the error shows what came. */
function vendorName(name: unknown): string {
  if (typeof name !== "string") return "unnamed";
  if (VENDOR_NAME.test(name)) return name;
  return name.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, 64) || "unnamed";
}
