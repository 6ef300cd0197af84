import { assignCallIds } from "../batch/call-ids.ts";
import { vendorCall } from "../batch/parse-batch.ts";
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../protocol/message.ts";

const UNKNOWN = "outcome unknown: this call was never answered";

/**
 * A conversation in which every call has its one result, right after the message that asked, in call order
 * (`Semantics 2.13`).
 *
 * A result that stands elsewhere is moved to its call; of two the first counts; one without a call is left out; a call
 * without one is answered `outcome unknown`. Ids that are missing or used twice are given anew, on both. What is right
 * already comes out as it was. Pure.
 */
export function putRight(messages: readonly Message[]): Message[] {
  const seen = new Set<string>();
  /** What answers which call, by the id that the conversation has for it: the latest turn's calls first. */
  const open = new Map<string, Answer[]>();
  const right: (Message | Answer)[] = [];
  let turn = 0;
  for (const message of messages) {
    if (message.role === "tool") {
      const answer = open.get(message.callId)?.find(isOpen);
      if (answer !== undefined) answer.result = message;
      continue;
    }
    if (message.role !== "assistant" || message.toolCalls === undefined || message.toolCalls.length === 0) {
      right.push(message);
      continue;
    }
    turn++;
    const { answers, asked } = askAgain(message, message.toolCalls, turn, seen);
    right.push(asked, ...answers);
    const asking = new Map<string, Answer[]>();
    message.toolCalls.forEach(({ id }, at) => {
      asking.set(id, [...(asking.get(id) ?? []), answers[at] as Answer]);
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

  constructor(call: ToolCall) {
    this.#call = call;
  }

  message(): ToolMessage {
    const { id: callId, name } = this.#call;
    if (this.result === undefined) return { role: "tool", callId, name, content: UNKNOWN, isError: true };
    return { ...this.result, callId, name };
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
