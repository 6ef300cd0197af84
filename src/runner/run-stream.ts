import { ConfigurationError } from "../base/errors.ts";
import type { RunEvent } from "../protocol/event.ts";
import type { Run } from "./run.ts";

/**
 * A run's events as they happen, with text deltas where the provider streams (`Semantics 2.3`).
 *
 * Read it once. Events wait for a slow reader, and the run does not. Without a reader the run goes on all the same.
 *
 * **Cancellation:** leaving the loop early cancels the run, and goes on when the run has settled. A loop can be left only
 * where an event comes; give `signal` to cancel at any moment, as when a client hangs up.
 */
export class RunStream<Output = string> implements AsyncIterable<RunEvent> {
  /** The same as `runner.run` gives. */
  readonly run: Promise<Run<Output>>;
  readonly #events: RunEvent[] = [];
  readonly #cancel: () => void;
  #next = 0;
  #wake: (() => void) | undefined;
  #ended = false;
  #isRead: "never" | "once" | "to its end" = "never";

  /** @internal `start` is given where events go, and gives the run and how to cancel it. */
  constructor(start: (sink: (event: RunEvent) => void) => { run: Promise<Run<Output>>; cancel: () => void }) {
    const { run, cancel } = start((event) => {
      if (this.#ended) return;
      this.#events.push(event);
      this.#wake?.();
    });
    this.#cancel = cancel;
    this.run = run.then((settled) => {
      this.#ended = true;
      this.#wake?.();
      return settled;
    });
  }

  /** @throws ConfigurationError (`CONFIGURATION`) when it was read before. */
  [Symbol.asyncIterator](): AsyncIterator<RunEvent, undefined> {
    if (this.#isRead !== "never")
      throw new ConfigurationError("stream: expected one reader, got a second; read it once");
    this.#isRead = "once";
    // A reader may ask for several before the first has come: each waits for the one before.
    let last: Promise<unknown> = Promise.resolve();
    return {
      next: () => {
        const taken = last.then(() => this.#take());
        last = taken;
        return taken;
      },
      return: async () => {
        if (!this.#ended) this.#cancel();
        this.#isRead = "to its end";
        this.#events.length = 0;
        await this.run;
        return { done: true, value: undefined };
      },
    };
  }

  async #take(): Promise<IteratorResult<RunEvent, undefined>> {
    while (this.#next >= this.#events.length && !this.#ended && this.#isRead !== "to its end") {
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
    }
    const event = this.#isRead === "to its end" ? undefined : this.#events[this.#next];
    if (event === undefined) return { done: true, value: undefined };
    this.#next++;
    // What was read is let go of, in pieces that keep this cheap.
    if (this.#next === 1_000) {
      this.#events.splice(0, this.#next);
      this.#next = 0;
    }
    return { done: false, value: event };
  }
}
