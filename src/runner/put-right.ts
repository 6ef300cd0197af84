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
  const suffixes = new Map<string, number>();
  /** What answers which call, by the id that the conversation has for it. */
  const open = new Map<string, Unanswered>();
  /** Results that stand before the first call of their id. */
  const early = new Map<string, ToolMessage>();
  const right: (Message | Answer)[] = [];
  let turn = 0;
  for (const message of messages) {
    if (message.role === "tool") {
      const asked = open.get(message.callId);
      const answer = asked?.take();
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
    const { answers, asked } = askAgain(message, toolCalls, turn, { seen, suffixes });
    right.push(asked, ...answers);
    toolCalls.forEach(({ id }, at) => {
      const answer = answers[at] as Answer;
      answer.early = early.get(id);
      early.delete(id);
      const unanswered = open.get(id) ?? new Unanswered();
      open.set(id, unanswered);
      unanswered.add(turn, answer);
    });
  }
  return right.map((entry) => (entry instanceof Answer ? entry.message() : entry));
}

/** Calls of one id that have no result yet: a result is that of the latest turn's, in call order. */
class Unanswered {
  readonly #turns: { readonly turn: number; readonly answers: Answer[]; next: number }[] = [];

  add(turn: number, answer: Answer): void {
    const last = this.#turns.at(-1);
    if (last?.turn === turn) last.answers.push(answer);
    else this.#turns.push({ turn, answers: [answer], next: 0 });
  }

  take(): Answer | undefined {
    for (let last = this.#turns.at(-1); last !== undefined; last = this.#turns.at(-1)) {
      const answer = last.answers[last.next++];
      if (answer !== undefined) return answer;
      this.#turns.pop();
    }
    return undefined;
  }
}

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
  ids: { readonly seen: Set<string>; readonly suffixes: Map<string, number> },
): { asked: AssistantMessage; answers: Answer[] } {
  const given = assignCallIds(calls, turn, ids.seen, ids.suffixes);
  const toolCalls = calls.map((call, at) => vendorCall(call, given[at] as string).call);
  return { asked: { ...message, toolCalls }, answers: toolCalls.map((call) => new Answer(call)) };
}
