import { linkAbort } from "../base/abort-link.ts";
import { Deferred } from "./deferred.ts";
import { TestingError } from "./testing-error.ts";

interface Held<T> {
  readonly label: string;
  readonly opened: Deferred<T>;
}

/**
 * Holds bodies until a test lets them go, in whatever order it likes.
 *
 * A body awaits {@link Gate.wait}; the test awaits {@link Gate.arrived} and then calls {@link Gate.open} or
 * {@link Gate.fail}. Several bodies may wait under one label: the one that came first goes first.
 *
 * @example
 * const gate = new Gate<string>();
 * const search = defineTool({ name: "search", …, run: ({ q }) => gate.wait(q) });
 * const running = runner.run(agent, "Go.");
 * await gate.arrived("second");
 * gate.open("second", "found");
 */
export class Gate<T = void> {
  readonly #held: Held<T>[] = [];
  readonly #arrivals: string[] = [];
  readonly #watchers = new Set<{ label: string; times: number; seen: Deferred }>();
  #leftOpen: { value: T } | undefined;

  /** The labels of everybody who ever came, in order. */
  get arrivals(): string[] {
    return [...this.#arrivals];
  }

  /** The labels of those who are held now, in the order in which they came. */
  get waiting(): string[] {
    return this.#held.map(({ label }) => label);
  }

  /**
   * Waits until the test opens the gate for this label.
   *
   * **Cancellation:** with a `signal`, rejects with its reason when it aborts and is held no more. Without one, a body
   * waits on: that is how a test writes a body that does not listen.
   */
  wait(label: string, options?: { signal?: AbortSignal }): Promise<T> {
    const held: Held<T> = { label, opened: new Deferred<T>() };
    this.#arrivals.push(label);
    if (this.#leftOpen === undefined) this.#held.push(held);
    else held.opened.resolve(this.#leftOpen.value);
    this.#tellWatchers();
    const signal = options?.signal;
    if (signal !== undefined) {
      const unlink = linkAbort(signal, () => {
        this.#release(held);
        held.opened.reject(signal.reason);
      });
      held.opened.promise.then(unlink, unlink);
    }
    return held.opened.promise;
  }

  /**
   * Resolves when somebody has come with this label, or has come `times` times in all. At once when that is so already.
   *
   * Nobody coming is a test that hangs; `await clock.promptly(gate.arrived(label))` says so instead.
   */
  arrived(label: string, times = 1): Promise<void> {
    const watcher = { label, times, seen: new Deferred() };
    this.#watchers.add(watcher);
    this.#tellWatchers();
    return watcher.seen.promise;
  }

  /**
   * Lets the first who waits under this label go on, with `value`.
   *
   * @throws TESTING when nobody does: open what has arrived, not what will.
   */
  open(label: string, value: T): void {
    this.#first(label, "open").opened.resolve(value);
  }

  /**
   * Lets the first who waits under this label fail with `error`, whatever it is.
   *
   * @throws TESTING when nobody does.
   */
  fail(label: string, error: unknown): void {
    this.#first(label, "fail").opened.reject(error);
  }

  /** Lets everybody go who waits now, with one value. Later ones are held again. */
  openAll(value: T): void {
    for (const { opened } of this.#held.splice(0)) opened.resolve(value);
  }

  /** Lets everybody go who waits now, and everybody who comes later, with one value. */
  leaveOpen(value: T): void {
    this.#leftOpen = { value };
    this.openAll(value);
  }

  #first(label: string, verb: string): Held<T> {
    const held = this.#held.find((one) => one.label === label);
    if (held === undefined) {
      throw new TestingError(
        `Gate.${verb}(${JSON.stringify(label)}): nobody waits there; waiting now: ${this.waiting.join(", ") || "nobody"}`,
      );
    }
    this.#release(held);
    return held;
  }

  #release(held: Held<T>): void {
    const place = this.#held.indexOf(held);
    if (place >= 0) this.#held.splice(place, 1);
  }

  #tellWatchers(): void {
    for (const watcher of this.#watchers) {
      if (this.#arrivals.filter((label) => label === watcher.label).length >= watcher.times) {
        this.#watchers.delete(watcher);
        watcher.seen.resolve();
      }
    }
  }
}
