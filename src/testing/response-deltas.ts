import type { ModelDelta, ModelResponse } from "../protocol/model.ts";

/** Characters of one piece: small enough that short texts come in several. */
const PIECE = 8;

/**
 * A response as a vendor would stream it: text, then each call's arguments, in pieces, then the whole. What no vendor
 * could send in pieces stands in the whole only.
 */
export function responseDeltas(response: ModelResponse): ModelDelta[] {
  const { content, toolCalls } = response;
  const deltas: ModelDelta[] = pieces(typeof content === "string" ? content : "").map((text) => ({
    type: "text",
    text,
  }));
  for (const [index, call] of toolCalls.entries()) {
    if (typeof call !== "object" || call === null) continue;
    const { id, name, args } = call;
    deltas.push({ type: "tool_call_start", index, id, name });
    for (const argsText of pieces(jsonText(args))) deltas.push({ type: "tool_call_delta", index, argsText });
    deltas.push({ type: "tool_call_end", index });
  }
  deltas.push({ type: "end", response });
  return deltas;
}

/** Cut between characters, never inside a surrogate pair. */
function pieces(text: string): string[] {
  const characters = Array.from(text);
  const cut: string[] = [];
  for (let from = 0; from < characters.length; from += PIECE) cut.push(characters.slice(from, from + PIECE).join(""));
  return cut;
}

/** The arguments as a vendor's text; none for what no vendor could send, which stands in `end` only. */
function jsonText(args: unknown): string {
  if (typeof args === "string") return args;
  try {
    return JSON.stringify(args) ?? "";
  } catch {
    return "";
  }
}
