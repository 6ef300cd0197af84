import { describeThrown } from "../base/describe-thrown.ts";
import { LanekeeperError } from "../base/errors.ts";
import { isInstance } from "../base/is-instance.ts";
import { showValue } from "../base/show-value.ts";
import { wellFormed } from "../base/well-formed.ts";
import type { ToolCall } from "../protocol/message.ts";
import type { FinishReason, ModelResponse } from "../protocol/model.ts";
import type { Usage } from "../protocol/usage.ts";
import { ProviderError } from "./runner-errors.ts";

const FINISHES: readonly FinishReason[] = ["stop", "tool_calls", "length", "refusal", "content_filter", "other"];

/**
 * What a provider answered, checked and copied: a provider that reuses or changes its objects changes nothing here.
 *
 * @throws ProviderError (`PROVIDER`) for what is no response, and for one that cannot be read.
 */
export function readResponse(provider: string, response: unknown): ModelResponse {
  try {
    return read(provider, response);
  } catch (error) {
    if (isInstance(error, ProviderError)) throw error;
    throw new ProviderError(`${provider}: expected a response that can be read: ${describeThrown(error)}`, {
      cause: error,
    });
  }
}

/** The run's error for what a provider threw: its own word where it is one of ours, and can be told. */
export function fromProvider(provider: string, threw: unknown): LanekeeperError {
  if (LanekeeperError.is(threw) && canBeTold(threw)) return threw;
  return new ProviderError(`${provider}: ${describeThrown(threw)}`, { cause: threw });
}

function canBeTold(error: LanekeeperError): boolean {
  try {
    return typeof error.toJSON().message === "string" && typeof JSON.stringify(error) === "string";
  } catch {
    return false;
  }
}

function read(provider: string, response: unknown): ModelResponse {
  if (typeof response !== "object" || response === null) return bad(provider, "a response", response);
  const { content, toolCalls, usage, finishReason, vendor } = response as Record<keyof ModelResponse, unknown>;
  if (typeof content !== "string") return bad(provider, "response.content: a text", content);
  if (!FINISHES.includes(finishReason as FinishReason)) {
    return bad(provider, `response.finishReason: one of ${FINISHES.join(", ")}`, finishReason);
  }
  if (!Array.isArray(toolCalls)) return bad(provider, "response.toolCalls: an array", toolCalls);
  // The array's own `map` may be anybody's.
  const calls = Array.from(toolCalls, (call: unknown, at) => {
    if (typeof call !== "object" || call === null) {
      return bad(provider, `response.toolCalls[${at}]: { id, name, args }`, call);
    }
    const { id, name, args } = call as ToolCall;
    return { id, name, args };
  });
  return {
    // Vendors refuse half a character when it comes back to them.
    content: wellFormed(content),
    toolCalls: calls,
    usage: readUsage(usage),
    finishReason: finishReason as FinishReason,
    ...(vendor === undefined ? {} : { vendor: structuredClone(vendor) }),
  };
}

/** A vendor that does not tell its tokens leaves 0. */
function readUsage(usage: unknown): Usage {
  const given = (typeof usage === "object" && usage !== null ? usage : {}) as Partial<Record<keyof Usage, unknown>>;
  const inputTokens = tokens(given.inputTokens);
  const outputTokens = tokens(given.outputTokens);
  return { inputTokens, outputTokens, totalTokens: tokens(given.totalTokens) || inputTokens + outputTokens };
}

const tokens = (count: unknown): number =>
  typeof count === "number" && Number.isFinite(count) && count > 0 ? count : 0;

function bad(provider: string, expected: string, came: unknown): never {
  throw new ProviderError(`${provider}: expected ${expected}, got ${showValue(came)}`);
}
