import { AsyncContext, inItsOwnContext } from "../base/async-context.ts";
import type { LanekeeperError } from "../base/errors.ts";
import { adopt } from "../base/hush.ts";

/** Why a run stops: the first reason wins, later ones are not heard (`Semantics 8`). */
export interface StopReason {
  /** How the run ends. */
  readonly status: "failed" | "cancelled";
  /** What becomes `run.error`. */
  readonly error: LanekeeperError;
  /** What each call that had not resolved is told: `never dispatched: <why>`. */
  readonly why: string;
}

/** Why a run stops that `error` ends: its calls are told the same. */
export function failure(error: LanekeeperError): StopReason {
  return { status: "failed", error, why: error.message };
}

/**
 * The one switch that stops a run.
 *
 * S1. It fires once; what it fired with never changes.
 * S2. Listeners hear it in the order in which they came, at once when it has fired before.
 * S3. Listeners hear it, and `signal` aborts, in the async context in which this was made, whoever fires it.
 * S4. `signal` aborts after the listeners: by then every call has its verdict, so that code which a signal wakes
 *     finds the run's books in order.
 */
export class Stop {
  #reason: StopReason | undefined;
  #listeners = new Set<(reason: StopReason) => void>();
  #controller: AbortController | undefined;
  readonly #lent = new Set<Lent>();
  readonly #context = new AsyncContext();

  /** Why, once it has fired. */
  get reason(): StopReason | undefined {
    return this.#reason;
  }

  /** Aborts with the reason's error. Made when first asked for. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined && !this.#controller.signal.aborted) this.#controller.abort(this.#reason.error);
    return this.#controller.signal;
  }

  /** Fires, unless it has; says whether this reason is the one. */
  fire(reason: StopReason): boolean {
    if (this.#reason !== undefined) return false;
    this.#reason = reason;
    const listeners = this.#listeners;
    this.#listeners = new Set();
    this.#context.run(() => {
      for (const listener of listeners) listener(reason);
      this.#controller?.abort(reason.error);
      for (const lent of this.#lent) lent.abort(reason);
      this.#lent.clear();
    });
    return true;
  }

  /** Calls `listener` when it fires. Returns what takes the listener away. */
  onFire(listener: (reason: StopReason) => void): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason);
      return () => {};
    }
    // A function of its own, so that one listener added twice is two.
    const call = (reason: StopReason): void => listener(reason);
    this.#listeners.add(call);
    return () => {
      this.#listeners.delete(call);
    };
  }

  /**
   * `work`, or a rejection with {@link Stopped} as soon as it fires. What `work` does later is nobody's business, also
   * when it rejects.
   */
  race<T>(work: PromiseLike<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const unlink = this.onFire(() => reject(STOPPED));
      work.then(
        (value) => {
          unlink();
          resolve(value);
        },
        (error: unknown) => {
          unlink();
          reject(error);
        },
      );
    });
  }

  /** Resolves with `work`, and at the latest when it fires. For work that never rejects. */
  async until(work: Promise<void>): Promise<void> {
    await this.race(work).catch(() => {});
  }

  /**
   * A signal of somebody's own, made when it is first looked at: what they leave listening on it goes with it, and does not
   * pile up. It aborts after `signal` does, until it is let go of.
   */
  lend(): Lent {
    const lent = new Lent(this, () => this.#lent.delete(lent));
    this.#lent.add(lent);
    return lent;
  }

  /**
   * What somebody else's code answers: thrown at once and rejected are one, and the signal it is given is of its own, so
   * that what it leaves listening does not pile up.
   *
   * Rejects with {@link Stopped} when it fires meanwhile, also when the code itself was what fired it.
   */
  async ask<T>(code: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
    if (this.#reason !== undefined) throw STOPPED;
    const lent = this.lend();
    try {
      const answer = await this.race(asked(() => adopt(inItsOwnContext(() => code(lent.signal)))));
      if (this.#reason !== undefined) throw STOPPED;
      return answer;
    } finally {
      lent.letGo();
    }
  }
}

/** Thrown at once and rejected are one. */
async function asked<T>(code: () => Promise<T>): Promise<T> {
  return code();
}

/** A signal that {@link Stop.lend} gave away. */
export class Lent {
  readonly letGo: () => void;
  readonly #stop: Stop;
  #controller: AbortController | undefined;
  #isOver = false;

  constructor(stop: Stop, letGo: () => void) {
    this.#stop = stop;
    this.letGo = () => {
      this.#isOver = true;
      letGo();
    };
  }

  get signal(): AbortSignal {
    const isNew = this.#controller === undefined;
    this.#controller ??= new AbortController();
    const { reason } = this.#stop;
    if (isNew && !this.#isOver && reason !== undefined) this.#controller.abort(reason.error);
    return this.#controller.signal;
  }

  abort({ error }: StopReason): void {
    this.#controller?.abort(error);
  }
}

/** What {@link Stop.race} and {@link Stop.ask} reject with. */
export class Stopped {}

const STOPPED = new Stopped();
