import { describeThrown } from "../base/describe-thrown.ts";
import { isInstance } from "../base/is-instance.ts";
import { type Json, PlainJsonError, plainJson } from "../base/plain-json.ts";
import { cutText } from "../base/well-formed.ts";
import { ToolOutputError } from "./tool-errors.ts";

/** How many UTF-8 bytes of a result a model is shown when nothing is declared. */
export const DEFAULT_MAX_RESULT_BYTES = 262_144;

/** Values nested deeper cannot be told apart from endless ones. */
const DEEPEST = 256;

/** A body's value as the runtime keeps it and as a model is shown it. */
export interface ToolOutput {
  /** The whole, as plain JSON of the runtime's own. */
  readonly value: Json;
  /** What the model is shown, cut when it is too long. */
  readonly text: string;
}

/**
 * Turns what a body returned into a result (`Semantics 2.6`).
 *
 * A string is itself, `undefined` the empty string; a value whose plain-JSON form is a text (`Date`, `bigint`, bytes) is
 * that text, without quotes; anything else is its JSON. Over `maxResultBytes` of UTF-8 `text` is cut between code points
 * and ends with a marker that says how much is missing; the marker counts, but never takes more than half of the
 * limit. `value` stays whole. A cut text of any length costs no more than the limit.
 *
 * @throws `TOOL_OUTPUT` for values that circle, throw or never end, functions, promises, generators and streams.
 */
export function toolOutput(
  tool: string,
  returned: unknown,
  { maxResultBytes = DEFAULT_MAX_RESULT_BYTES }: { maxResultBytes?: number } = {},
): ToolOutput {
  if (returned === undefined) return { value: "", text: "" };
  try {
    refuseStreams(tool, returned);
    const plain = plainJson(returned, { deepest: DEEPEST });
    const value = plain === undefined ? "" : plain;
    return { value, text: cutToBytes(typeof value === "string" ? value : JSON.stringify(value), maxResultBytes) };
  } catch (error) {
    if (isInstance(error, ToolOutputError)) throw error;
    throw new ToolOutputError(tool, isInstance(error, PlainJsonError) ? error.message : describeThrown(error), {
      cause: error,
    });
  }
}

/** What must be asked again and again for its content has none of its own: its JSON would be `{}`, and a lie. */
function refuseStreams(tool: string, returned: unknown): void {
  if (typeof returned !== "object" || returned === null || Array.isArray(returned)) return;
  const { next, toJSON } = returned as { next?: unknown; toJSON?: unknown };
  if (typeof toJSON === "function") return;
  if (typeof (returned as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === "function") {
    throw new ToolOutputError(tool, "an async generator or stream; collect it with for await and return the array");
  }
  if (typeof next === "function" && typeof (returned as Partial<Iterable<unknown>>)[Symbol.iterator] === "function") {
    throw new ToolOutputError(tool, "a generator or iterator; collect it and return the array");
  }
}

/** The text within `limit` bytes of UTF-8, with a marker when something is missing. Looks at no more than is kept. */
function cutToBytes(text: string, limit: number): string {
  if (text.length * 3 <= limit || unitsWithin(text, limit) === text.length) return text;
  const marker = (kept: number): string => `… [cut: the first ${kept} of ${text.length} characters]`;
  const room = limit - new TextEncoder().encode(marker(text.length)).length;
  const start = cutText(text, unitsWithin(text, Math.max(room, Math.floor(limit / 2))));
  return start + marker(start.length);
}

/** How many UTF-16 units from the start fit into `bytes` of UTF-8, in whole code points. */
function unitsWithin(text: string, bytes: number): number {
  let left = bytes;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    const pair = code >= 0xd800 && code <= 0xdbff;
    left -= code < 0x80 ? 1 : code < 0x800 ? 2 : pair ? 4 : 3;
    if (left < 0) return at;
    at += pair ? 2 : 1;
  }
  return text.length;
}
