/** A piece of a message that is more than plain text. */
export type Part = { type: "text"; text: string } | { type: "file"; mediaType: string; data: Uint8Array | string };

/** One tool call that a model asks for. */
export interface ToolCall {
  /** The vendor's id, unique in the transcript; the runtime assigns or suffixes where it is not (`Semantics 2.5`). */
  id: string;
  /** The tool's name. */
  name: string;
  /** An object, or the vendor's JSON text of one. */
  args: unknown;
}

/** What the developer tells the model. */
export interface SystemMessage {
  role: "system";
  content: string;
}

/** What a person says to the model. */
export interface UserMessage {
  role: "user";
  content: string | Part[];
}

/** What the model answered: text, tool calls, or both. */
export interface AssistantMessage {
  role: "assistant";
  content: string;
  /** The turn's batch, in call order. */
  toolCalls?: ToolCall[];
  /** Reasoning, cache marks and signatures of the vendor; carried, never read. */
  vendor?: unknown;
}

/** The one result of one call. */
export interface ToolMessage {
  role: "tool";
  /** The id of the call that this answers. */
  callId: string;
  /** The tool's name. */
  name: string;
  content: string | Part[];
  /** Whether the call failed, was stopped or never went out. */
  isError: boolean;
}

/** One message of a transcript. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;
