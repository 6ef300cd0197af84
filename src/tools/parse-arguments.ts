import { isInstance } from "../base/is-instance.ts";
import { type Json, PlainJsonError, plainJson } from "../base/plain-json.ts";
import { showValue } from "../base/show-value.ts";
import { cutText, wellFormed } from "../base/well-formed.ts";

/** Deeper arguments are refused: validators and vendors give up not far below. */
const DEEPEST = 256;
/** How much of what could not be read the transcript keeps. */
const LONGEST_KEPT = 2_000;

/** What {@link parseArguments} made of a call's `args`. */
export type ParsedArguments =
  | { readonly ok: true; readonly input: { [name: string]: Json } }
  | {
      readonly ok: false;
      /** What was expected and what came; one line. */
      readonly problem: string;
      /** What the transcript keeps in the arguments' place: an object, as vendors demand, that shows what was wrong. */
      readonly kept: { [name: string]: Json };
    };

/**
 * The input form of a call's arguments (`Semantics 2.5`): a plain-JSON object of the runtime's own.
 *
 * Takes an object, or the vendor's JSON text; text is always parsed. Absent (`undefined`, `null`) and blank is `{}`.
 * Anything else is a problem and never `{}`: arrays, primitives, JSON text of those (`"null"` too), text that is no JSON,
 * objects that cannot be read, and arguments nested more than 256 deep. Then `kept.unparsed_arguments` shows the first
 * 2,000 characters of what came. A key `__proto__` stays a key. Never throws.
 */
export function parseArguments(args: unknown): ParsedArguments {
  if (args === undefined || args === null) return { ok: true, input: {} };
  if (typeof args !== "string") return objectFrom(args, undefined);
  if (args.trim() === "") return { ok: true, input: {} };
  let parsed: unknown;
  try {
    parsed = JSON.parse(args);
  } catch {
    // The host's own words differ between versions, and the transcript must not.
    return failed(`expected a JSON object, got text that is not JSON: ${showValue(args)}`, args);
  }
  return objectFrom(parsed, args);
}

function objectFrom(value: unknown, text: string | undefined): ParsedArguments {
  let copy: Json | undefined;
  try {
    copy = plainJson(value, { deepest: DEEPEST });
  } catch (error) {
    const why = isInstance(error, PlainJsonError) ? error.message : "it cannot be read";
    return failed(`expected a JSON object, got one that is not JSON: ${why}`, text);
  }
  if (typeof copy === "object" && copy !== null && !Array.isArray(copy)) return { ok: true, input: copy };
  return failed(`expected a JSON object, got ${showValue(copy)}`, text ?? JSON.stringify(copy));
}

function failed(problem: string, came: string | undefined): ParsedArguments {
  return { ok: false, problem, kept: came === undefined ? {} : { unparsed_arguments: keep(came) } };
}

function keep(text: string): string {
  const start = wellFormed(cutText(text, LONGEST_KEPT));
  return start.length < text.length ? `${start}… [${text.length - start.length} more characters]` : start;
}
