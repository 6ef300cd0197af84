import { showValue } from "./show-value.ts";
import { cutText, wellFormed } from "./well-formed.ts";

/** The longest text that comes of one thrown value. */
const LONGEST = 2_000;
/** So many parts of an `AggregateError` are told, and so deep. */
const PARTS = 10;
const DEEPEST = 3;

/**
 * A text for whatever was thrown, never empty and at most about 2,000 characters: an error's message with the messages
 * of its parts, a text itself, else what it is. No stack, no cause. Never throws and changes nothing.
 */
export function describeThrown(thrown: unknown): string {
  return wellFormed(cut(describe(thrown, DEEPEST, "it threw ")));
}

/** A reason that somebody gave, as it is told: at most about 2,000 characters of well-formed text. */
export function shortReason(reason: string): string {
  return wellFormed(cut(reason));
}

/** `lead` stands before what has no message of its own. */
function describe(thrown: unknown, deepest: number, lead: string): string {
  if (typeof thrown === "string") return thrown.trim() === "" ? `${lead}an empty text` : thrown;
  if (typeof thrown !== "object" || thrown === null) {
    return `${lead}${typeof thrown === "symbol" ? cut(String(thrown)) : showValue(thrown)}`;
  }
  try {
    const { message } = thrown as { message?: unknown };
    const parts = partsOf(thrown, deepest);
    if (typeof message === "string" && message.trim() !== "")
      return parts === "" ? message : `${cut(message)}: ${parts}`;
    if (parts !== "") return parts;
    const { name } = thrown as { name?: unknown };
    if (typeof name === "string" && name.trim() !== "") return `${cut(name)} without a message`;
    return `${lead}${contentOf(thrown) ?? showValue(thrown)}`;
  } catch {
    return `${lead}${showValue(thrown)} whose message cannot be read`;
  }
}

/** The parts of an `AggregateError`, as text. */
function partsOf(thrown: object, deepest: number): string {
  const { errors } = thrown as { errors?: unknown };
  if (deepest === 0 || !Array.isArray(errors) || errors.length === 0) return "";
  const told = errors.slice(0, PARTS).map((part: unknown) => cut(describe(part, deepest - 1, ""), LONGEST / 4));
  return errors.length > PARTS ? `${told.join("; ")}; and ${errors.length - PARTS} more` : told.join("; ");
}

/** `{"code":1}` for a small plain object of simple members; else nothing. */
function contentOf(thrown: object): string | undefined {
  if (Object.getPrototypeOf(thrown) !== Object.prototype) return undefined;
  const members = Object.entries(thrown).filter(([, member]) =>
    ["string", "number", "boolean"].includes(typeof member),
  );
  if (members.length === 0) return undefined;
  return cut(
    JSON.stringify(Object.fromEntries(members.slice(0, PARTS).map(([key, m]) => [cut(key, 100), cut(m, 100)]))),
  );
}

function cut<T>(text: T, length: number = LONGEST): T {
  return (typeof text === "string" && text.length > length ? `${cutText(text, length)}…` : text) as T;
}
