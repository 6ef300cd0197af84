import { type Clock, systemClock } from "../base/clock.ts";
import { CancelledError, ConfigurationError } from "../base/errors.ts";
import { isInstance } from "../base/is-instance.ts";
import { checkClock, checkFunction, checkOptions, readable, refuse } from "../base/option-checks.ts";
import {
  type ConcurrencyChanges,
  ConcurrencyConfig,
  type ConcurrencyOptions,
  changedConfig,
} from "./concurrency-config.ts";
import { currentPermit } from "./current-permit.ts";
import { findLanes } from "./find-lanes.ts";
import { LaneEngine, waitsFor } from "./lane-engine.ts";
import { LaneWaitExceededError } from "./lane-errors.ts";
import { type AcquireOptions, checkAcquireOptions, checkRequest, type LaneRequest } from "./lane-request.ts";
import type { LaneStore } from "./lane-store.ts";
import { nestingOf } from "./nesting.ts";
import { CallState, Permit, rareOf } from "./permit.ts";
import { SignalWaiters } from "./signal-waiters.ts";
import { type LaneSnapshot, takeSnapshot } from "./snapshot.ts";
import { Turn } from "./turn.ts";

/** What {@link Lanes} may be given beside its bounds. */
export interface LanesOptions {
  /** Measures waits, holds and starts. Default: the host's. */
  readonly clock?: Clock;
  /** Shares the declared lanes with others. Default: they are this object's alone. */
  readonly store?: LaneStore;
  /** Told of what is nobody's call's fault. Default: dropped. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Several bounds at once over whatever is asynchronous: all or nothing, fair, nested without deadlock (`Semantics 4`).
 *
 * A call stands in every lane that its request names and gets its places in all of them in one step, so calls that wait
 * hold nothing. What runs inside a {@link Lanes.use} body and asks again is nested: it uses the places of the body
 * instead of queueing behind it.
 *
 * **Fairness:** calls with the same lanes are first come, first served; tenants take turns at a tool or resource; a call
 * that was passed over 8 times has its lanes kept. The price: a kept place idles until then.
 *
 * **Cancellation:** a call that stops waiting leaves nothing behind. A call that runs is stopped by nobody.
 *
 * @example
 * const lanes = new Lanes({ perTenant: 16, perTool: { search: 4 } });
 * await lanes.use({ tenant: "acme", tool: "search" }, async () => search("Kyoto"));
 */
export class Lanes {
  readonly #engine: LaneEngine;
  readonly #signals: Map<AbortSignal, SignalWaiters> = new Map();
  #turns = 0;

  /** @throws ConfigurationError (`CONFIGURATION`) for a bound or an option that can not work. */
  constructor(config: ConcurrencyOptions | ConcurrencyConfig = {}, options: LanesOptions = {}) {
    const { clock, store, onError } = readable("lanes", () => checkLanesOptions(options));
    this.#engine = new LaneEngine({
      config: asConfig(config),
      clock: clock ?? systemClock,
      store,
      report: (error) => reportTo(onError, error),
    });
  }

  /** The bounds as configured now. */
  get config(): ConcurrencyConfig {
    return this.#engine.config;
  }

  /**
   * Makes the lane of one batch. It bounds everything nested in its calls, too.
   *
   * Its bound is the smallest of `maxConcurrentTools` as configured (8 when it is not), that of `narrowing`, and a
   * narrowed `perTenant`. Narrowed tools and resources become lanes of this turn; `maxWaitSeconds` and `maxWaiting` hold
   * for its calls and those below them. What is narrowed is narrowed for this turn only (`Semantics 4.2`).
   *
   * @throws ConfigurationError (`CONFIGURATION`) for a bound or an option that can not work.
   */
  turn(narrowing: ConcurrencyOptions | ConcurrencyConfig = {}, options: { readonly name?: string } = {}): Turn {
    const { name } = checkOptions("turn", options, ["name"]);
    if (name !== undefined && typeof name !== "string") refuse("turn.name", "a text", name);
    this.#turns += 1;
    return new Turn(this.#engine, asConfig(narrowing), name ?? String(this.#turns));
  }

  /**
   * Waits for a place in every lane of the request (`Semantics 4.4`).
   *
   * Give the permit back when the work has really ended. It is nobody's caller unless `within` names it; inside a `use`
   * body the request is nested in that body's permit.
   *
   * **Cancellation:** when `signal` aborts before the permit is delivered, nothing is held and the promise rejects.
   *
   * @throws ConfigurationError (`CONFIGURATION`), CancelledError (`CANCELLED`), LaneDeadlockError (`LANE_DEADLOCK`),
   * LaneWaitExceededError (`LANE_WAIT_EXCEEDED`), LaneFullError (`LANE_FULL`), LaneStoreUnavailableError
   * (`LANE_STORE_UNAVAILABLE`); always as a rejection.
   */
  acquire(request: LaneRequest, options?: AcquireOptions): Promise<Permit> {
    try {
      const permit = this.#prepare(request, options, true);
      if (this.#engine.tryTake(permit)) return Promise.resolve(permit);
      return this.#wait(permit, options?.signal).then(deliver);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * A permit exactly when {@link Lanes.acquire} would not wait, else `undefined`. Never overtakes a waiting call.
   *
   * With a store whose answers take time it is always `undefined`, unless a caller lends all that the store would be
   * asked for.
   *
   * @throws ConfigurationError (`CONFIGURATION`) for a request or an option that can not work; LaneStoreUnavailableError
   * (`LANE_STORE_UNAVAILABLE`).
   */
  tryAcquire(request: LaneRequest, options?: Omit<AcquireOptions, "signal">): Permit | undefined {
    const permit = this.#prepare(request, options, false);
    if (this.#engine.tryTake(permit)) return permit;
    return this.#engine.forgo(permit);
  }

  /**
   * Runs `body` once there is a place in every lane of the request, and gives the places back when it has ended.
   *
   * The body runs at once when no wait is needed, and always in the async context of whoever asked. Resolves and rejects
   * as the body does. What the body asks of the same lanes is nested in it, awaited or not; its places go back with the
   * last of that (`Semantics 4.8`).
   *
   * **Cancellation:** `signal` ends the wait; a body is never started after it has aborted, and a running one is not
   * touched.
   *
   * @throws What the body throws, or what {@link Lanes.acquire} does; always as a rejection.
   */
  use<T>(request: LaneRequest, body: (permit: Permit) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    try {
      if (typeof body !== "function") refuse("body", "a function", body);
      const permit = this.#prepare(request, options, true);
      permit.body = body;
      if (this.#engine.tryTake(permit)) return Promise.resolve(runBody(permit) as T | PromiseLike<T>);
      return this.#wait(permit, options?.signal).then(start) as Promise<T>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Every lane that is declared, used or waited for, at this moment (`Semantics 4.9`). Costs time for each permit and each
   * waiting call; the lanes themselves keep no books for it.
   */
  snapshot(): LaneSnapshot[] {
    return takeSnapshot(this.#engine);
  }

  /**
   * Changes bounds while calls run: only what is named changes, and a map entry of `undefined` goes (`Semantics 4.9`).
   *
   * Checked as a whole first. Raising a bound wakes waiting calls before this returns; lowering one stops nobody, and
   * the next call starts once enough have ended. Live turns follow `maxConcurrentTools`; `maxWaitSeconds` and `maxWaiting`
   * hold for calls that come after.
   *
   * @throws ConfigurationError (`CONFIGURATION`), and then nothing has changed.
   */
  configure(changes: ConcurrencyChanges): void {
    this.#engine.configure(changedConfig(this.#engine.config, changes));
  }

  #prepare(request: LaneRequest, options: AcquireOptions | undefined, waits: boolean): Permit {
    const engine = this.#engine;
    engine.refuseWhileAsking();
    let holder: unknown;
    try {
      checkRequest(engine, request);
      checkAcquireOptions(engine, options, waits);
      holder = options?.holder;
    } catch (cause) {
      if (cause instanceof ConfigurationError) throw cause;
      throw new ConfigurationError("request: expected values that can be read, got one that throws", { cause });
    }
    if (options?.signal?.aborted === true) throw cancelled(options.signal);
    const caller = callerFor(engine, options?.within);
    const permit = new Permit(findLanes(engine, request, caller), holder);
    if (caller !== null) nestingOf(permit).caller = caller;
    return permit;
  }

  #wait(permit: Permit, signal: AbortSignal | undefined): Promise<Permit> {
    const engine = this.#engine;
    const error = engine.wait(permit);
    if (error !== null) throw error;
    const waiting = new Promise<Permit>(keepResolve);
    permit.settle = resolveLast;
    if (signal !== undefined) {
      rareOf(permit).signal = signal;
      // A function of the tenant, asked a moment ago, may have aborted it.
      if (signal.aborted) cancelWait(permit, signal);
      else SignalWaiters.watch(this.#signals, signal, permit, cancelWait);
    }
    const { maxWaitSeconds } = permit.set;
    if (maxWaitSeconds !== Number.POSITIVE_INFINITY) {
      rareOf(permit).waitTimer = engine.clock.setTimer(maxWaitSeconds * 1000, () => endWait(permit));
    }
    return waiting;
  }
}

function checkLanesOptions(options: unknown): LanesOptions {
  const given: LanesOptions = checkOptions("lanes", options, ["clock", "store", "onError"]);
  if (given.clock !== undefined) checkClock("lanes.clock", given.clock);
  checkFunction("lanes.onError", given.onError);
  if (given.store !== undefined) checkStore(given.store);
  return given;
}

function checkStore(store: unknown): void {
  const { tryAcquire, onFreed } = (typeof store === "object" && store !== null ? store : {}) as Partial<LaneStore>;
  if (typeof tryAcquire !== "function" || typeof onFreed !== "function") refuse("lanes.store", "a LaneStore", store);
}

function asConfig(config: ConcurrencyOptions | ConcurrencyConfig): ConcurrencyConfig {
  return isInstance(config, ConcurrencyConfig) ? config : new ConcurrencyConfig(config);
}

function reportTo(onError: ((error: unknown) => void) | undefined, error: unknown): void {
  try {
    onError?.(error);
  } catch {
    // There is nobody left to tell.
  }
}

/** The nearest caller that still holds its places: named, or found through async context. */
function callerFor(engine: LaneEngine, within: Permit | undefined): Permit | null {
  let caller = within ?? currentPermit() ?? null;
  while (caller !== null && (caller.set.engine !== engine || caller.state !== CallState.held)) {
    caller = caller.nesting?.caller ?? caller.rare?.enteredFrom ?? null;
  }
  return caller;
}

// One executor and one continuation of each kind for all calls: with closures of its own, a waiting call would cost
// several times as much, most of it in collecting garbage.
let resolveLast: (permit: Permit) => void = () => {};
const keepResolve = (resolve: (permit: Permit) => void): void => {
  resolveLast = resolve;
};

/** The end of a wait in `acquire`. */
function deliver(permit: Permit): Permit {
  if (permit.state !== CallState.held) throw permit.rare?.error;
  refuseIfAborted(permit);
  return permit;
}

/** The end of a wait in `use`: here, in the waiting call's own async context (`Semantics 4.11`), and not in the release. */
function start(permit: Permit): unknown {
  if (permit.state !== CallState.held) throw permit.rare?.error;
  refuseIfAborted(permit);
  return runBody(permit);
}

/** The signal aborted between the grant and now: the places go back unused (`Semantics 4.10`). */
function refuseIfAborted(permit: Permit): void {
  const signal = permit.rare?.signal;
  if (signal?.aborted !== true) return;
  permit.release();
  throw cancelled(signal);
}

function runBody(permit: Permit): unknown {
  const body = permit.body as (permit: Permit) => unknown;
  permit.body = null;
  try {
    const result = permit.run(body, permit);
    if ((typeof result !== "object" && typeof result !== "function") || result === null) {
      permit.end();
      return result;
    }
    // Whether it is a promise is the host's to find out, once: asking a hostile value twice could get two answers.
    const ended = Promise.resolve(result);
    const end = (): void => permit.end();
    nativeThen.call(ended, end, end);
    return ended;
  } catch (error) {
    permit.end();
    throw error;
  }
}

const nativeThen = Promise.prototype.then;

function cancelWait(permit: Permit, signal: AbortSignal): void {
  permit.set.engine.fail(permit, cancelled(signal));
}

function cancelled(signal: AbortSignal): CancelledError {
  return new CancelledError("expected a place in every lane, but the wait was cancelled", { cause: signal.reason });
}

function endWait(permit: Permit): void {
  const { engine, maxWaitSeconds } = permit.set;
  const waitedSeconds = (engine.clock.monotonic() - permit.waitingSince) / 1000;
  engine.fail(permit, new LaneWaitExceededError(waitsFor(permit).label, waitedSeconds, maxWaitSeconds));
}
