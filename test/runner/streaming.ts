/** A model that streams by hand: what tests of calls that go out early stand on. */
import type { ModelDelta, ModelProvider, ModelRequest, ModelResponse, ToolCall } from "lanekeeper";
import { checkRequest } from "lanekeeper/testing";

/** A piece of the stream, or something that is waited for before the next, or thrown. */
type Piece = ModelDelta | Promise<unknown> | Error;

/** Answers each request with the next turn; `requests` has what was asked. */
export class StreamingModel implements ModelProvider {
  readonly name = "streaming";
  readonly requests: ModelRequest[] = [];
  /** How many streams were left before they had ended. */
  left = 0;
  readonly #turns: (readonly Piece[])[];

  constructor(...turns: (readonly Piece[])[]) {
    this.#turns = turns;
  }

  async generate(): Promise<ModelResponse> {
    throw new Error("expected to be asked for a stream");
  }

  async *stream(request: ModelRequest): AsyncGenerator<ModelDelta, void, undefined> {
    const refused = checkRequest(request);
    if (refused.length > 0) throw new Error(refused.join("; "));
    const turn = this.#turns[this.requests.push(structuredClone(request)) - 1];
    if (turn === undefined) throw new Error("expected no further request");
    let hasEnded = false;
    try {
      for (const piece of turn) {
        if (piece instanceof Error) throw piece;
        if (piece instanceof Promise) await piece;
        else yield piece as ModelDelta;
      }
      hasEnded = true;
    } finally {
      if (!hasEnded) this.left++;
    }
  }
}

/** One call as it is streamed, in two pieces of arguments. */
export function streamed({ id, name, args }: ToolCall, index: number): ModelDelta[] {
  const text = typeof args === "string" ? args : JSON.stringify(args);
  return [
    { type: "tool_call_start", index, id, name },
    { type: "tool_call_delta", index, argsText: text.slice(0, 1) },
    { type: "tool_call_delta", index, argsText: text.slice(1) },
    { type: "tool_call_end", index },
  ];
}

/** The end of a stream, with its whole response. */
export function ends(response: ModelResponse): ModelDelta {
  return { type: "end", response };
}
