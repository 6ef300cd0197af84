import { ConfigurationError } from "../base/errors.ts";
import { refuse } from "../base/option-checks.ts";
import { plainJson } from "../base/plain-json.ts";
import type { Message } from "../protocol/message.ts";
import { putRight } from "./put-right.ts";

/**
 * The transcript that a run starts from: a copy of the input, put right (`Semantics 2.12`, `2.13`).
 *
 * @throws ConfigurationError (`CONFIGURATION`) for anything but a text or a list of messages, naming the place.
 */
export function readInput(input: unknown): Message[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  if (!Array.isArray(input)) refuse("input", "a text or an array of messages", input);
  if (input.length === 0) refuse("input", "at least one message", input);
  let messages: Message[];
  try {
    messages = structuredClone(input) as Message[];
  } catch (cause) {
    throw new ConfigurationError("input: expected messages that can be copied, got one that cannot", { cause });
  }
  for (const [at, message] of messages.entries()) checkMessage(`input[${at}]`, message);
  return putRight(messages);
}

function checkMessage(path: string, message: unknown): void {
  if (typeof message !== "object" || message === null) refuse(path, "a message", message);
  const { role, content, toolCalls, callId, name, isError } = message as Record<string, unknown>;
  readOthers(path, message as Record<string, unknown>);
  switch (role) {
    case "system":
      if (typeof content !== "string") refuse(`${path}.content`, "a text", content);
      return;
    case "user":
      checkContent(`${path}.content`, content);
      return;
    case "assistant":
      if (typeof content !== "string") refuse(`${path}.content`, "a text", content);
      if (toolCalls !== undefined) checkCalls(`${path}.toolCalls`, toolCalls);
      return;
    case "tool":
      if (typeof callId !== "string") refuse(`${path}.callId`, "a text", callId);
      if (typeof name !== "string") refuse(`${path}.name`, "a text", name);
      if (typeof isError !== "boolean") refuse(`${path}.isError`, "true or false", isError);
      checkContent(`${path}.content`, content);
      return;
    default:
      refuse(`${path}.role`, "one of system, user, assistant, tool", role);
  }
}

const READ = new Set(["role", "content", "toolCalls", "callId", "name", "isError", "vendor"]);

/** What else somebody put into a message goes to the vendor with it, as plain JSON. */
function readOthers(path: string, message: Record<string, unknown>): void {
  for (const [key, value] of Object.entries(message)) {
    if (READ.has(key) || value === undefined) continue;
    try {
      message[key] = plainJson(value);
    } catch (cause) {
      throw new ConfigurationError(`${path}.${key}: expected plain JSON; ${(cause as Error).message}`, { cause });
    }
  }
}

function checkContent(path: string, content: unknown): void {
  if (typeof content === "string") return;
  if (!Array.isArray(content) || content.length === 0) refuse(path, "a text or at least one part", content);
  Array.from<unknown>(content).forEach((part, at) => {
    const { type, text, mediaType, data } = (typeof part === "object" && part !== null ? part : {}) as Record<
      string,
      unknown
    >;
    const isText = type === "text" && typeof text === "string";
    const isFile =
      type === "file" && typeof mediaType === "string" && (typeof data === "string" || data instanceof Uint8Array);
    if (!isText && !isFile) refuse(`${path}[${at}]`, "a text part or a file part", part);
  });
}

function checkCalls(path: string, calls: unknown): void {
  if (!Array.isArray(calls)) refuse(path, "an array of calls", calls);
  Array.from<unknown>(calls).forEach((call, at) => {
    if (typeof call !== "object" || call === null) refuse(`${path}[${at}]`, "{ id, name, args }", call);
  });
}
