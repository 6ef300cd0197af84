import { type Stop, Stopped } from "../batch/stop.ts";
import type { ModelCall, ModelProvider, ModelRequest, ModelResponse } from "../protocol/model.ts";
import { fromProvider, readResponse } from "./read-response.ts";
import { ProviderError } from "./runner-errors.ts";

/**
 * Asks a model once. With `onText`, and where the provider can, the answer is streamed and its text told as it comes.
 *
 * @throws Stopped when the run stops meanwhile, ProviderError or the provider's own error else.
 */
export async function askModel(
  provider: ModelProvider,
  request: ModelRequest,
  call: ModelCall,
  stop: Stop,
  onText: ((text: string) => void) | undefined,
): Promise<ModelResponse> {
  if (stop.reason !== undefined) throw new Stopped();
  try {
    const response =
      onText !== undefined && provider.stream !== undefined
        ? await streamed(provider, request, call, stop, onText)
        : // In a promise of its own, so that what throws at once and what rejects are one.
          await stop.race(new Promise<unknown>((settle) => settle(provider.generate(request, call))));
    if (stop.reason !== undefined) throw new Stopped();
    return readResponse(provider.name, response);
  } catch (threw) {
    if (threw instanceof Stopped) throw threw;
    throw fromProvider(provider.name, threw);
  }
}

async function streamed(
  provider: ModelProvider,
  request: ModelRequest,
  call: ModelCall,
  stop: Stop,
  onText: (text: string) => void,
): Promise<unknown> {
  const deltas = provider.stream?.(request, call)[Symbol.asyncIterator]() as AsyncIterator<unknown>;
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await stop.race(new Promise<IteratorResult<unknown>>((settle) => settle(deltas.next())));
      isOver = done === true;
      if (isOver)
        throw new ProviderError(`${provider.name}: expected an end of the stream with its response, got none`);
      const delta = value as { type?: unknown; text?: unknown; response?: unknown };
      if (delta.type === "end") return delta.response;
      if (delta.type === "text" && typeof delta.text === "string") onText(delta.text);
    }
  } finally {
    // A stream that is left must be told, or its connection stays open; nobody waits for it.
    if (!isOver) new Promise((settle) => settle(deltas.return?.())).catch(() => {});
  }
}
