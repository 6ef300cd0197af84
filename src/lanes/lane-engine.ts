/**
 * The lanes at work: one state, moved by a few synchronous steps (`Semantics 4`).
 *
 * Owns the state that the rooms of the engine share, and the steps in which it changes; promises, signals and async
 * context are `lanes.ts`'s. Each step leaves everything true again before it returns:
 *
 * L1 A place is taken once, and no lane has more taken than its bound, but for one lowered meanwhile (`admission.ts`).
 * L2 No place stays free beside a waiting call that could use it, unless it is kept (`hand-on.ts`).
 * L3 Whatever waits is parked on one lane that shuts it out (`parking.ts`).
 * L4 No nested call waits for what can never come free (`deadlock.ts`).
 * L5 Nothing of a lane is left when nobody uses it or waits for it (`lane-registry.ts`).
 *
 * The parts are functions over this state: what a step does reads from top to bottom in one file each.
 */
import type { Clock } from "../base/clock.ts";
import { ConfigurationError } from "../base/errors.ts";
import { firstShut, shutInner, shutOuter, takePlaces } from "./admission.ts";
import type { BoundLimits } from "./bound.ts";
import type { CallGroup } from "./call-group.ts";
import type { CallQueue } from "./call-queue.ts";
import type { ConcurrencyConfig } from "./concurrency-config.ts";
import { findDeadlock } from "./deadlock.ts";
import {
  abandonBody,
  callerThatMayGo,
  endBody,
  forgetAbandoned,
  giveBack,
  handOnAfter,
  takeBack,
} from "./give-back.ts";
import { type InVain, reopen, reopenAll } from "./hand-on.ts";
import type { Lane } from "./lane.ts";
import { LaneDeadlockError, LaneFullError } from "./lane-errors.ts";
import { LaneRegistry } from "./lane-registry.ts";
import type { LaneStore } from "./lane-store.ts";
import { callerOf, nearestHolding } from "./nesting.ts";
import { joinQueue, leaveQueue, markServed } from "./parking.ts";
import { CallState, type Permit, rareOf } from "./permit.ts";
import { PASSED_OVER_BEFORE_KEEPING } from "./reservation.ts";
import { StoreClaims } from "./store-claims.ts";
import type { Turn } from "./turn.ts";

/** What an engine is made of. */
export interface LaneEngineOptions {
  readonly config: ConcurrencyConfig;
  readonly clock: Clock;
  readonly report: (error: unknown) => void;
  readonly store?: LaneStore | undefined;
  /** For tests: how often a call is passed over before its lanes are kept for it. */
  readonly passedOverLimit?: number;
}

export class LaneEngine {
  config: ConcurrencyConfig;
  readonly clock: Clock;
  readonly report: (error: unknown) => void;
  readonly passedOverLimit: number;
  readonly lanes: LaneRegistry;
  /** Grows with each change of config: what was made under another one is made again. */
  version = 0;
  /** Calls that wait, and calls that hold places. */
  waiting = 0;
  inFlight = 0;
  /** The age of the youngest call that waited, and the number of the last service in any round. */
  lastAge = 0;
  lastService = 0;
  /** Whether any lane ever bounded starts: saves looking on every arrival. */
  hasRates = false;
  /** The last permit in the list of held ones. */
  lastHeld: Permit | null = null;
  readonly nestedGroups: Set<CallGroup> = new Set();
  readonly abandoned: Set<Permit> = new Set();
  /** Lanes of bound 1 that must put another queue forward before the step is over. */
  readonly putForwardAgain: Set<Lane> = new Set();
  /** Who was looked at in vain in this step, and where. */
  readonly inVain: InVain[] = [];
  /** Calls of others, made when the step is over. */
  readonly afterwards: (() => void)[] = [];
  /** Asks a store of shared lanes; null without one. */
  readonly storeClaims: StoreClaims | null;
  #asking = false;

  constructor(options: LaneEngineOptions) {
    this.config = options.config;
    this.clock = options.clock;
    this.report = options.report;
    this.passedOverLimit = options.passedOverLimit ?? PASSED_OVER_BEFORE_KEEPING;
    this.lanes = new LaneRegistry(this, options.clock);
    this.storeClaims = options.store === undefined ? null : new StoreClaims(this, options.store);
  }

  /** Gives a fresh call its places if it need not wait. */
  tryTake(call: Permit): boolean {
    this.refuseWhileAsking();
    const { set } = call;
    if (set.tenantLane.readBound !== null && this.#refreshTenant(set)) reopen(this, set.tenantLane);
    if (this.hasRates && this.waiting > 0) this.#reopenByTime(call);
    if (shutOuter(call) !== null || shutInner(call) !== null) return false;
    if (this.storeClaims !== null && !this.#claim(call, this.storeClaims)) return false;
    takePlaces(call);
    if (this.waiting > 0) markServed(this, set);
    this.#hold(call);
    return true;
  }

  /** Lets a call wait that could not be taken. Gives the error when it must not wait at all. */
  wait(call: Permit): unknown {
    if (call.state === CallState.claiming) return null;
    if (call.state === CallState.failed) return call.rare?.error;
    const full = this.#fullLane(call);
    if (full !== null) {
      call.state = CallState.failed;
      this.lanes.collectSet(call.set);
      return new LaneFullError(full.label, call.set.maxWaiting);
    }
    joinQueue(this, call);
    return this.failIfDeadlocked(call);
  }

  /** Fails a call that begins to wait and can never run. Gives the error. */
  failIfDeadlocked(call: Permit): LaneDeadlockError | null {
    const ring = call.state === CallState.waiting && callerOf(call) !== null ? findDeadlock(call) : null;
    if (ring === null) return null;
    const error = new LaneDeadlockError(ring);
    this.fail(call, error);
    return error;
  }

  /** Lets a call go that could not be taken and is not to wait. */
  forgo(call: Permit): undefined {
    if (call.state === CallState.failed) throw call.rare?.error;
    if (call.state === CallState.claiming) this.fail(call, null);
    this.lanes.collectSet(call.set);
    this.runAfterwards();
  }

  /** Gives a waiting call its places: every lane here is open for it. False when a store refuses, and it waits on. */
  admit(call: Permit): boolean {
    const claim = this.storeClaims === null ? "granted" : this.storeClaims.claim(call);
    if (claim === "refused" || claim === "failed") return false;
    takePlaces(call);
    markServed(this, call.set);
    leaveQueue(this, call);
    if (claim === "pending") call.state = CallState.claiming;
    else this.grant(call);
    return true;
  }

  /** A call that has taken its places holds them from now on. */
  grant(call: Permit): void {
    const { nesting, rare } = call;
    if (nesting !== null) nesting.caller = nearestHolding(nesting.caller);
    if (rare !== null) stopWatching(call);
    this.#hold(call);
    const { settle } = call;
    call.settle = null;
    settle?.(call);
  }

  /** A waiting call gives up. False when it does not wait any more. */
  fail(call: Permit, error: unknown): boolean {
    const { state } = call;
    if (state !== CallState.waiting && state !== CallState.claiming) return false;
    const kept = call.rare?.starving ? call.set.all : [];
    call.state = CallState.failed;
    const rare = rareOf(call);
    rare.error = error;
    stopWatching(call);
    if (state === CallState.waiting) leaveQueue(this, call);
    else {
      this.storeClaims?.giveUp(call);
      handOnAfter(this, call.set, takeBack(this, call));
    }
    for (const lane of kept) reopen(this, lane);
    if (this.putForwardAgain.size > 0) for (const lane of [...this.putForwardAgain]) reopen(this, lane);
    this.lanes.collectSet(call.set);
    const caller = callerThatMayGo(call);
    if (caller !== null) giveBack(this, caller);
    const { settle } = call;
    call.settle = null;
    settle?.(call);
    this.runAfterwards();
    return true;
  }

  release(permit: Permit): void {
    if (permit.state === CallState.held) this.#step(giveBack, permit);
    else forgetAbandoned(this, permit);
  }

  end(permit: Permit): void {
    if (permit.state === CallState.held) this.#step(endBody, permit);
    else forgetAbandoned(this, permit);
  }

  abandon(permit: Permit): void {
    if (permit.state === CallState.held) this.#step(abandonBody, permit);
  }

  /** Takes over a checked config; nothing changes when a function of the tenant throws. */
  configure(config: ConcurrencyConfig): void {
    this.refuseWhileAsking();
    this.lanes.configure(config);
    this.config = config;
    this.version += 1;
    for (const turn of this.#turnsInUse()) turn.refreshBound();
    this.storeClaims?.forgetRefusals();
    reopenAll(this, this.#lanesInUse());
    for (const lane of [...this.lanes.all()]) this.lanes.collect(lane);
    this.#failDeadlocked();
    this.runAfterwards();
  }

  setLimits(lane: Lane, limits: BoundLimits): void {
    this.lanes.setLimits(lane, limits);
  }

  /** Runs a function of the tenant or a store, which are somebody else's code: it must not move what it is asked about. */
  askOutside<T>(ask: () => T): T {
    const outer = this.#asking;
    this.#asking = true;
    try {
      return ask();
    } finally {
      this.#asking = outer;
    }
  }

  refuseWhileAsking(): void {
    if (this.#asking)
      throw new ConfigurationError("lanes: expected a perTenant function and a store that do not use the lanes");
  }

  /** Sees to it that a lane that only starts shut opens by itself, if somebody waits there. */
  armReopening(lane: Lane): void {
    const { starts } = lane;
    if (starts === null || starts.reopening !== null || (!lane.hasParked && lane.keeper === null)) return;
    const wait = starts.opensInMs();
    if (wait === 0) return;
    starts.reopening = this.clock.setTimer(wait, () => {
      starts.reopening = null;
      reopen(this, lane);
      this.runAfterwards();
    });
  }

  /** Its rates are others now, and so may be the moment when it opens. */
  rearmReopening(lane: Lane): void {
    lane.starts?.reopening?.cancel();
    if (lane.starts !== null) lane.starts.reopening = null;
    this.armReopening(lane);
  }

  disarmReopening(lane: Lane): void {
    if (lane.hasParked || lane.keeper !== null || lane.starts === null) return;
    lane.starts.reopening?.cancel();
    lane.starts.reopening = null;
  }

  /** Takes a permit out of the list of held ones. */
  unlist(permit: Permit): void {
    if (permit.previous !== null) permit.previous.next = permit.next;
    if (permit.next !== null) permit.next.previous = permit.previous;
    else if (this.lastHeld === permit) this.lastHeld = permit.previous;
    permit.previous = null;
    permit.next = null;
    this.inFlight -= 1;
  }

  /** Makes the calls that were put off until the step was over; while somebody else's code is asked, it is not. */
  runAfterwards(): void {
    if (this.#asking) return;
    for (let call = this.afterwards.shift(); call !== undefined; call = this.afterwards.shift()) {
      try {
        call();
      } catch (error) {
        this.report(error);
      }
    }
  }

  /** Every queue in which a call waits. */
  *queues(): Generator<CallQueue> {
    for (const lane of [...this.lanes.tools.values(), this.lanes.noTool]) {
      for (const entry of lane.entries?.values() ?? []) {
        for (const group of entry.groups.values()) yield* group.queues.values();
      }
    }
    for (const group of this.nestedGroups) yield* group.queues.values();
  }

  /** Every permit that holds places, the youngest first. */
  *held(): Generator<Permit> {
    for (let permit = this.lastHeld; permit !== null; permit = permit.previous) yield permit;
  }

  #hold(call: Permit): void {
    call.state = CallState.held;
    call.heldSince = this.clock.monotonic();
    call.previous = this.lastHeld;
    if (this.lastHeld !== null) this.lastHeld.next = call;
    this.lastHeld = call;
    this.inFlight += 1;
  }

  /** Asks the store for a call that has just arrived. False when it has to wait, for the answer or for a place, or fails. */
  #claim(call: Permit, storeClaims: StoreClaims): boolean {
    const claim = storeClaims.claim(call);
    if (claim === "pending") {
      this.lastAge += 1;
      call.age = this.lastAge;
      call.waitingSince = this.clock.monotonic();
      takePlaces(call);
      if (this.waiting > 0) markServed(this, call.set);
      call.state = CallState.claiming;
    } else if (claim === "failed") {
      call.state = CallState.failed;
      this.lanes.collectSet(call.set);
    }
    if (this.afterwards.length > 0) this.runAfterwards();
    return claim === "granted";
  }

  #step(step: (engine: LaneEngine, permit: Permit) => void, permit: Permit): void {
    this.refuseWhileAsking();
    step(this, permit);
    if (this.afterwards.length > 0) this.runAfterwards();
  }

  #refreshTenant(set: Permit["set"]): boolean {
    try {
      return this.lanes.refreshTenant(set.tenantLane);
    } catch (error) {
      this.lanes.collectSet(set);
      throw error;
    }
  }

  /** Time may have opened a lane whose timer has not fired yet: those who wait there go before a new arrival. */
  #reopenByTime(call: Permit): void {
    for (const lane of call.set.all) {
      if (lane.starts !== null && lane.starts.reopening !== null && !lane.starts.isShut()) reopen(this, lane);
    }
  }

  #fullLane(call: Permit): Lane | null {
    const { maxWaiting } = call.set;
    if (maxWaiting === Number.POSITIVE_INFINITY) return null;
    return call.set.all.find((lane) => lane.isBounded && lane.waiting >= maxWaiting) ?? null;
  }

  #turnsInUse(): Set<Turn> {
    const turns = new Set<Turn>();
    for (const lane of this.#lanesInUse()) if (lane.turn !== null) turns.add(lane.turn);
    return turns;
  }

  #lanesInUse(): Set<Lane> {
    const lanes = new Set<Lane>();
    for (const permit of this.held()) for (const lane of permit.set.all) lanes.add(lane);
    for (const queue of this.queues()) for (const lane of queue.set.all) lanes.add(lane);
    return lanes;
  }

  /** A lowered bound may have closed a ring that nobody's arrival closed. */
  #failDeadlocked(): void {
    for (const group of [...this.nestedGroups]) {
      for (const queue of [...group.queues.values()]) {
        for (let ring = ringOf(queue); ring !== null; ring = ringOf(queue)) {
          this.fail(queue.head as Permit, new LaneDeadlockError(ring));
        }
      }
    }
  }
}

function ringOf({ head }: CallQueue): string[] | null {
  return head === null ? null : findDeadlock(head);
}

/** The call no longer waits: nothing of it stays on its signal or the clock. */
function stopWatching(call: Permit): void {
  const { rare } = call;
  if (rare === null) return;
  rare.signalWaiters?.leave(call);
  rare.signalWaiters = null;
  rare.waitTimer?.cancel();
  rare.waitTimer = null;
}

/** The lane that a waiting call is said to wait for. */
export function waitsFor(call: Permit): Lane {
  return firstShut(call) ?? call.set.queue?.parkedAt ?? call.set.queue?.group.parkedAt ?? call.set.toolLane;
}
