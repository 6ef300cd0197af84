import { AsyncResource } from "node:async_hooks";

/**
 * The async context in which it was made: what `AsyncLocalStorage`s held there, code that is run in it sees, whoever runs
 * it. What the code itself enters its storages with stays in here.
 */
export class AsyncContext {
  readonly #resource = new AsyncResource("Lanekeeper");

  run<T>(code: () => T): T {
    return this.#resource.runInAsyncScope(code);
  }
}

/** Runs others' code in the present async context, and keeps what it enters its storages with from whoever runs it. */
export function inItsOwnContext<T>(code: () => T): T {
  return new AsyncContext().run(code);
}
