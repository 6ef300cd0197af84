import { copyJson } from "../base/copy-json.ts";
import type { Message } from "../protocol/message.ts";

/** Copies of messages that share nothing with them (`Semantics 2.12`). */
export function copyMessages(messages: readonly Message[]): Message[] {
  return messages.map((message) => {
    const copy = { ...message } as Record<string, unknown>;
    for (const [key, value] of Object.entries(copy)) {
      if (typeof value !== "object" || value === null) continue;
      // Calls are plain JSON; what a vendor gave, and bytes, need not be.
      copy[key] = key === "toolCalls" ? copyJson(value) : structuredClone(value);
    }
    return copy as unknown as Message;
  });
}
