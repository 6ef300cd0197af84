import { readable, refuse } from "../base/option-checks.ts";
import type { ToolCall } from "../protocol/message.ts";
import type { ModelResponse } from "../protocol/model.ts";
import type { Usage } from "../protocol/usage.ts";
import { isPlainObject } from "./plain-json.ts";

/** A response whose stream breaks: a step of a script that {@link breaksOff} makes. */
export interface BrokenResponse {
  readonly response: ModelResponse;
  /** How many pieces arrive before it breaks. */
  readonly afterPieces: number;
  readonly error: Error;
}

/** A call written out: what is left out is left out of the response too, and `args` may be anything. */
export interface WrittenCall {
  id?: string;
  name: string;
  args?: unknown;
}

/** Tokens that a written response claims: small, and never 0, so that a lost one is seen in the sum. */
const USAGE: Usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

/** Calls whose id nobody wrote, so that a script may make it unique. */
const impliedIds = new WeakSet<ToolCall>();

/** Whether {@link calls} made up the id of this call. */
export function hasImpliedId(call: ToolCall): boolean {
  return impliedIds.has(call);
}

/** A response that answers with text and asks for no calls. `overrides` replaces any of its fields. */
export function say(text: string, overrides: Partial<ModelResponse> = {}): ModelResponse {
  return { content: text, toolCalls: [], usage: { ...USAGE }, finishReason: "stop", ...overrides };
}

/**
 * A response that asks for tool calls, in the order written.
 *
 * Each argument is `{ tool: args }` with one or more tools, or a call written out as `{ id, name, args }`. Several calls
 * of one tool take several arguments. A call written out goes through as it is, with a doubled or missing id and
 * malformed arguments too. The others get the id `<tool>_<position>`; `ScriptedProvider` puts the turn in front
 * (`t2_search_0`), so that it is unique in the transcript. For text or another ending beside the calls, spread:
 * `{ ...calls({ search: { q: "x" } }), content: "Looking." }`.
 *
 * @throws CONFIGURATION when an argument is no object.
 */
export function calls(...written: (Record<string, unknown> | WrittenCall)[]): ModelResponse {
  return readable("calls", () => callsOf(written));
}

function callsOf(written: readonly (Record<string, unknown> | WrittenCall)[]): ModelResponse {
  const toolCalls: ToolCall[] = [];
  for (const [index, entry] of written.entries()) {
    if (!isPlainObject(entry)) refuse(`calls argument ${index}`, "{ tool: args } or { id, name, args }", entry);
    if (isWrittenCall(entry)) {
      toolCalls.push({ ...(entry as object) } as ToolCall);
      continue;
    }
    for (const [name, args] of Object.entries(entry)) {
      const call: ToolCall = { id: `${name}_${toolCalls.length}`, name, args };
      impliedIds.add(call);
      toolCalls.push(call);
    }
  }
  return { content: "", toolCalls, usage: { ...USAGE }, finishReason: "tool_calls" };
}

/**
 * A step whose stream breaks with `error` after so many pieces of the response; asked without streaming it just throws.
 *
 * @throws CONFIGURATION when `afterPieces` is no whole number of at least 0.
 */
export function breaksOff(response: ModelResponse, afterPieces: number, error: Error): BrokenResponse {
  if (!Number.isSafeInteger(afterPieces) || afterPieces < 0) {
    refuse("breaksOff afterPieces", "a whole number of at least 0", afterPieces);
  }
  return { response, afterPieces, error };
}

/** `{ name: "search" }` with an id or arguments; a tool that is itself called `name` is written out. */
function isWrittenCall(entry: Record<string, unknown>): boolean {
  return (
    typeof entry.name === "string" &&
    ("id" in entry || "args" in entry) &&
    Object.keys(entry).every((key) => key === "id" || key === "name" || key === "args")
  );
}
