import { linkAbort, type Unlink } from "../base/abort-link.ts";
import { type Permit, rareOf } from "./permit.ts";

/**
 * The calls that wait under one `AbortSignal`.
 *
 * One link per signal, however many wait: a link of its own for each would cost two closures a call.
 */
export class SignalWaiters {
  readonly #signal: AbortSignal;
  readonly #registry: Map<AbortSignal, SignalWaiters>;
  readonly #waiting: Set<Permit> = new Set();
  readonly #unlink: Unlink;

  private constructor(
    registry: Map<AbortSignal, SignalWaiters>,
    signal: AbortSignal,
    onAbort: (permit: Permit, signal: AbortSignal) => void,
  ) {
    this.#registry = registry;
    this.#signal = signal;
    this.#unlink = linkAbort(signal, () => {
      registry.delete(signal);
      // A call that went before its turn came is no longer in the set, and is not visited.
      for (const permit of this.#waiting) onAbort(permit, signal);
    });
  }

  /** Watches `signal` for a call that begins to wait. */
  static watch(
    registry: Map<AbortSignal, SignalWaiters>,
    signal: AbortSignal,
    permit: Permit,
    onAbort: (permit: Permit, signal: AbortSignal) => void,
  ): void {
    let waiters = registry.get(signal);
    if (waiters === undefined) {
      waiters = new SignalWaiters(registry, signal, onAbort);
      registry.set(signal, waiters);
    }
    waiters.#waiting.add(permit);
    rareOf(permit).signalWaiters = waiters;
  }

  /** The call no longer waits; the last one leaves no listener behind. */
  leave(permit: Permit): void {
    this.#waiting.delete(permit);
    if (this.#waiting.size > 0 || this.#registry.get(this.#signal) !== this) return;
    this.#registry.delete(this.#signal);
    this.#unlink();
  }
}
