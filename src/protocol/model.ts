import type { JsonSchema } from "./json-schema.ts";
import type { Message, ToolCall } from "./message.ts";
import type { Usage } from "./usage.ts";

/** A tool as the model is shown it. */
export interface ToolSchema {
  name: string;
  description: string;
  inputSchema: JsonSchema;
}

/** What a model is asked. Plain data, a copy of its own: changing it changes nothing in the run. */
export interface ModelRequest {
  model: string;
  instructions: string;
  messages: Message[];
  tools: ToolSchema[];
  /** The schema of a structured answer, when one is asked for. */
  output?: JsonSchema;
  settings: Record<string, unknown>;
}

/** Why the model stopped. Only `tool_calls` and `stop` (and `other`) let calls run (`Semantics 2.9`). */
export type FinishReason = "stop" | "tool_calls" | "length" | "refusal" | "content_filter" | "other";

/** What a model answered. */
export interface ModelResponse {
  content: string;
  toolCalls: ToolCall[];
  usage: Usage;
  /** Carried into the transcript and back, never read. */
  vendor?: unknown;
  finishReason: FinishReason;
}

/** One piece of a streamed answer; the last is `end`. */
export type ModelDelta =
  | { type: "text"; text: string }
  | { type: "tool_call_start"; index: number; id: string; name: string }
  | { type: "tool_call_delta"; index: number; argsText: string }
  | { type: "tool_call_end"; index: number }
  | { type: "end"; response: ModelResponse };

/** On whose behalf a model is asked, and how to stop it. */
export interface ModelCall {
  /** Aborts when the run stops or its `modelCallSeconds` have passed. */
  signal: AbortSignal;
  run: { id: string; path: string; turn: number; agent: string; tenant: string };
}

/** Where models come from. An error thrown or rejected here fails the run. */
export interface ModelProvider {
  readonly name: string;
  generate(request: ModelRequest, options: ModelCall): Promise<ModelResponse>;
  stream?(request: ModelRequest, options: ModelCall): AsyncIterable<ModelDelta>;
}
