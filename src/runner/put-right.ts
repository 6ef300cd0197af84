import { assignCallIds } from "../batch/call-ids.ts";
import { vendorCall } from "../batch/parse-batch.ts";
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../protocol/message.ts";

const UNKNOWN = "outcome unknown: this call was never answered";

/**
 * A conversation in which every call has its one result, right after the message that asked, in call order
 * (`Semantics 2.13`).
 *
 * A result that stands elsewhere is moved to its call; of two the first behind the call counts; one without a call is
 * left out; a call without one is answered `outcome unknown`. Ids that are missing or used twice are given anew, on both.
 * What is right already comes out as it was. Pure.
 */
export function putRight(messages: readonly Message[]): Message[] {
  const seen = new Set<string>();
  /** What answers which call, by the id that the conversation has for it: the latest turn's calls first. */
  const open = new Map<string, Answer[]>();
  /** Results that stand before the first call of their id. */
  const early = new Map<string, ToolMessage>();
  const right: (Message | Answer)[] = [];
  let turn = 0;
  for (const message of messages) {
    if (message.role === "tool") {
      const asked = open.get(message.callId);
      const answer = asked?.find(isOpen);
      if (answer !== undefined) answer.result = message;
      else if (asked === undefined && !early.has(message.callId)) early.set(message.callId, message);
      continue;
    }
    if (message.role !== "assistant") {
      right.push(message);
      continue;
    }
    const { toolCalls = [], ...rest } = message;
    if (toolCalls.length === 0) {
      // Vendors refuse an empty list.
      right.push(rest);
      continue;
    }
    turn++;
    const { answers, asked } = askAgain(message, toolCalls, turn, seen);
    right.push(asked, ...answers);
    const asking = new Map<string, Answer[]>();
    toolCalls.forEach(({ id }, at) => {
      const answer = answers[at] as Answer;
      answer.early = early.get(id);
      early.delete(id);
      asking.set(id, [...(asking.get(id) ?? []), answer]);
    });
    for (const [id, latest] of asking) open.set(id, [...latest, ...(open.get(id) ?? []).filter(isOpen)]);
  }
  return right.map((entry) => (entry instanceof Answer ? entry.message() : entry));
}

const isOpen = ({ result }: Answer): boolean => result === undefined;

/** The place of a call's result. */
class Answer {
  readonly #call: ToolCall;
  result: ToolMessage | undefined;
  /** What stood before the call, and counts where nothing behind it does. */
  early: ToolMessage | undefined;

  constructor(call: ToolCall) {
    this.#call = call;
  }

  message(): ToolMessage {
    const { id: callId, name } = this.#call;
    const result = this.result ?? this.early;
    if (result === undefined) return { role: "tool", callId, name, content: UNKNOWN, isError: true };
    return { ...result, callId, name };
  }
}

function askAgain(
  message: AssistantMessage,
  calls: readonly ToolCall[],
  turn: number,
  seen: Set<string>,
): { asked: AssistantMessage; answers: Answer[] } {
  const ids = assignCallIds(calls, turn, seen);
  const toolCalls = calls.map((call, at) => vendorCall(call, ids[at] as string).call);
  return { asked: { ...message, toolCalls }, answers: toolCalls.map((call) => new Answer(call)) };
}
