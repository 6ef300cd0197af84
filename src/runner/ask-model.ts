import { AsyncContext, inItsOwnContext } from "../base/async-context.ts";
import { isInstance } from "../base/is-instance.ts";
import { type Stop, Stopped } from "../batch/stop.ts";
import type { ModelCall, ModelProvider, ModelRequest, ModelResponse } from "../protocol/model.ts";
import { fromProvider, readResponse } from "./read-response.ts";
import { ProviderError } from "./runner-errors.ts";

/** Told each piece of a streamed answer as it comes, the last excepted; may be anything that a provider made up. */
export type DeltaSink = (delta: Partial<Record<string, unknown>>) => void;

/**
 * Asks a model once. With `onDelta`, and where the provider can, the answer is streamed.
 *
 * @throws Stopped when the run stops meanwhile, ProviderError or the provider's own error else.
 */
export async function askModel(
  provider: ModelProvider,
  request: ModelRequest,
  call: ModelCall,
  stop: Stop,
  onDelta: DeltaSink | undefined,
): Promise<ModelResponse> {
  if (stop.reason !== undefined) throw new Stopped();
  try {
    const response =
      onDelta !== undefined && provider.stream !== undefined
        ? await streamed(provider, request, call, stop, onDelta)
        : // In a promise of its own, so that what throws at once and what rejects are one.
          await stop.race(
            new Promise<unknown>((settle) => settle(inItsOwnContext(() => provider.generate(request, call)))),
          );
    if (stop.reason !== undefined) throw new Stopped();
    return readResponse(provider.name, response);
  } catch (threw) {
    if (isInstance(threw, Stopped)) throw threw;
    throw fromProvider(provider.name, threw);
  }
}

async function streamed(
  provider: ModelProvider,
  request: ModelRequest,
  call: ModelCall,
  stop: Stop,
  onDelta: DeltaSink,
): Promise<unknown> {
  const context = new AsyncContext();
  const stream: unknown = context.run(() => provider.stream?.(request, call));
  // An async function has made its stream when it says so.
  const given = isInstance(stream, Promise) ? await stop.race(stream) : stream;
  const deltas = context.run(() => (given as AsyncIterable<unknown>)[Symbol.asyncIterator]());
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await stop.race(
        new Promise<IteratorResult<unknown>>((settle) => settle(context.run(() => deltas.next()))),
      );
      isOver = done === true;
      if (isOver)
        throw new ProviderError(`${provider.name}: expected an end of the stream with its response, got none`);
      const delta = value as Record<string, unknown>;
      if (delta.type === "end") return delta.response;
      onDelta(delta);
    }
  } finally {
    // A stream that is left must be told, or its connection stays open; nobody waits for it.
    if (!isOver) new Promise((settle) => settle(deltas.return?.())).catch(() => {});
  }
}
