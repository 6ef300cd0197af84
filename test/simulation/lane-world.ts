/**
 * Drives the engine synchronously and checks, by brute force and after every step, what must be true of it.
 *
 * The checks know nothing of queues, groups or parking: they are written from the rules.
 */
import { lenderOf } from "../../src/lanes/admission.ts";
import { ConcurrencyConfig, type ConcurrencyOptions } from "../../src/lanes/concurrency-config.ts";
import { findLanes } from "../../src/lanes/find-lanes.ts";
import type { Lane } from "../../src/lanes/lane.ts";
import { LaneEngine, type LaneEngineOptions } from "../../src/lanes/lane-engine.ts";
import { LaneDeadlockError } from "../../src/lanes/lane-errors.ts";
import type { LaneRequest } from "../../src/lanes/lane-request.ts";
import { callerOf, isCallerOf, nestingOf } from "../../src/lanes/nesting.ts";
import { CallState, Permit } from "../../src/lanes/permit.ts";
import { Turn } from "../../src/lanes/turn.ts";
import { HandClock } from "./hand-clock.ts";

export type WorldRequest = Omit<LaneRequest, "turn"> & { readonly turn?: number };

/** Counts what the worlds of one check saw. */
export interface Tally {
  worlds: number;
  paths: number;
  grants: number;
  deadlocks: number;
  kept: number;
}

export function emptyTally(): Tally {
  return { worlds: 0, paths: 0, grants: 0, deadlocks: 0, kept: 0 };
}

class WatchedEngine extends LaneEngine {
  beforeGrant: (call: Permit) => void = () => {};
  beforeDeadlock: (call: Permit) => void = () => {};

  override admit(call: Permit): boolean {
    this.beforeGrant(call);
    return super.admit(call);
  }

  override fail(call: Permit, error: unknown): boolean {
    if (error instanceof LaneDeadlockError) this.beforeDeadlock(call);
    return super.fail(call, error);
  }
}

const isHeld = (call: Permit): boolean => call.state === CallState.held;
const isWaiting = (call: Permit): boolean => call.state === CallState.waiting;
const sameLanes = (one: Permit, other: Permit): boolean =>
  one.set.all.length === other.set.all.length && one.set.all.every((lane, place) => lane === other.set.all[place]);
/** A rate may have opened this very moment: its timer comes next. */
const awaitsTimer = (call: Permit): boolean =>
  call.set.all.some((lane) => lane.starts !== null && lane.starts.reopening !== null);
const nameOf = (call: Permit): string => String(call.holder);

export class LaneWorld {
  readonly clock: HandClock = new HandClock();
  readonly engine: WatchedEngine;
  readonly turns: Turn[] = [];
  readonly calls: Permit[] = [];
  readonly log: string[] = [];
  onGrant: (call: Permit) => void = () => {};
  grants = 0;
  deadlocks = 0;
  kept = 0;
  /** How often each tenant was served at a tool since another one could have been. */
  readonly #served: Map<string, Map<Lane, number>> = new Map();

  constructor(config: ConcurrencyOptions, passedOverLimit: number) {
    const options: LaneEngineOptions = {
      config: new ConcurrencyConfig(config),
      clock: this.clock,
      report: (error) => {
        throw error;
      },
      passedOverLimit,
    };
    this.engine = new WatchedEngine(options);
    this.engine.beforeGrant = (call) => this.#checkGrant(call);
    this.engine.beforeDeadlock = (call) => this.#checkDeadlock(call);
  }

  addTurn(narrowing: ConcurrencyOptions): number {
    this.turns.push(new Turn(this.engine, new ConcurrencyConfig(narrowing), String(this.turns.length)));
    return this.turns.length - 1;
  }

  request(asked: WorldRequest, caller: Permit | null): Permit {
    const { turn, ...names } = asked;
    const request: LaneRequest = turn === undefined ? names : { ...names, turn: this.turns[turn] as Turn };
    const call = new Permit(
      findLanes(this.engine, request, caller),
      `#${this.calls.length}${caller === null ? "" : `<${nameOf(caller)}`}`,
    );
    if (caller !== null) nestingOf(call).caller = caller;
    this.calls.push(call);
    this.log.push(`ask ${nameOf(call)}`);
    const could = this.#couldRun(call) && !this.#keptFrom(call);
    if (this.engine.tryTake(call)) {
      if (!could) this.fail(`${nameOf(call)} was taken without a place`);
      this.#checkOrder(call);
      this.onGrant(call);
    } else {
      if (could) this.fail(`${nameOf(call)} waits beside its places`);
      call.settle = () => {
        if (isHeld(call)) this.onGrant(call);
      };
      this.engine.wait(call);
    }
    this.check();
    return call;
  }

  release(call: Permit): void {
    this.log.push(`release ${nameOf(call)}`);
    call.release();
    call.release();
    this.check();
  }

  end(call: Permit): void {
    this.log.push(`end ${nameOf(call)}`);
    call.end();
    call.end();
    this.check();
  }

  abandon(call: Permit): void {
    this.log.push(`abandon ${nameOf(call)}`);
    call.abandon();
    this.check();
  }

  cancel(call: Permit): void {
    this.log.push(`cancel ${nameOf(call)}`);
    const waited = isWaiting(call);
    if (this.engine.fail(call, new Error("cancelled")) !== waited) this.fail("cancel");
    this.check();
  }

  configure(changes: ConcurrencyOptions): void {
    this.log.push(`configure ${JSON.stringify(changes)}`);
    this.engine.configure(new ConcurrencyConfig(changes));
    this.check();
  }

  moveTo(moment: number): void {
    while (this.clock.step(moment)) if (!this.clock.isDue) this.check();
    this.clock.moveTo(moment);
  }

  waiting(): Permit[] {
    return this.calls.filter(isWaiting);
  }

  held(): Permit[] {
    return this.calls.filter(isHeld);
  }

  fail(what: string): never {
    const waiting = this.waiting().map((call) => {
      const queue = call.set.queue;
      const lanes = call.set.all.map(
        (lane) =>
          `${lane.label} ${lane.used}/${lane.bound}${lane.keeper === null ? "" : ` kept for ${nameOf(lane.keeper)}`}`,
      );
      return `  ${nameOf(call)} at ${queue?.parkedAt?.label ?? `group ${queue?.group.parkedAt?.label}`}: ${lanes.join(", ")}`;
    });
    throw new Error(`${what}\n${this.log.slice(-30).join("; ")}\n${waiting.slice(0, 12).join("\n")}`);
  }

  // ---- the rules, by brute force ----

  /** Semantics 4.4, 4.6: a place in each lane, free or to be borrowed; a rate is nobody's to pass. */
  #couldRun(call: Permit): boolean {
    return call.set.all.every((lane) => {
      if (lane.starts?.isShut() === true) return false;
      return lane.used < lane.bound || (callerOf(call) !== null && lenderOf(call, lane) !== null);
    });
  }

  #keptFrom(call: Permit): boolean {
    if (callerOf(call) !== null) return false;
    return call.set.all.some((lane) => lane.keeper !== null && lane.keeper !== call && lane.used + 1 >= lane.bound);
  }

  #checkGrant(call: Permit): void {
    if (!this.#couldRun(call)) this.fail(`${nameOf(call)} was admitted without a place`);
    if (call.rare?.starving === true) this.kept += 1;
    this.#checkOrder(call);
  }

  /** Semantics 4.5: first come first served within tenant and tool, and turns going round between tenants. */
  #checkOrder(call: Permit): void {
    this.grants += 1;
    const age = call.age === 0 ? Number.POSITIVE_INFINITY : call.age;
    const isFlat = callerOf(call) === null;
    const starving = call.rare?.starving === true;
    for (const other of this.waiting()) {
      if (other === call || other.age > age) continue;
      if (sameLanes(other, call) && callerOf(other) === callerOf(call))
        this.fail(`${nameOf(call)} overtook ${nameOf(other)} in its queue`);
      if (!isFlat || callerOf(other) !== null || starving) continue;
      if (other.set.tenantLane !== call.set.tenantLane || other.set.toolLane !== call.set.toolLane) continue;
      // Of calls with identical arguments one is put forward for all.
      if (other.set.queue?.parkedAt?.kind === "arguments") continue;
      if (awaitsTimer(other)) continue;
      if (this.#couldRun(other) && !this.#keptFrom(other)) this.fail(`${nameOf(call)} overtook ${nameOf(other)}`);
    }
    this.#forgetServices();
    const { tenantLane, toolLane, resourceLane } = call.set;
    // Counted where the place came free: the resource's, else the tool's.
    if (isFlat && !starving) this.#countService(call, resourceLane ?? toolLane);
    this.#served.delete(this.#serviceKey(toolLane, tenantLane));
    if (resourceLane !== null) this.#served.delete(this.#serviceKey(resourceLane, tenantLane));
  }

  #countService(call: Permit, lane: Lane): void {
    const { tenantLane } = call.set;
    const others = new Set(
      this.waiting()
        .filter((other) => other !== call && (other.set.resourceLane ?? other.set.toolLane) === lane)
        .filter((other) => other.set.tenantLane !== tenantLane)
        .filter((other) => callerOf(other) === null && this.#couldRun(other) && !this.#keptFrom(other))
        // Of calls with identical arguments one is put forward for all.
        .filter((other) => other.set.queue?.parkedAt?.kind !== "arguments")
        .filter((other) => !awaitsTimer(other))
        .map((other) => other.set.tenantLane),
    );
    for (const other of others) {
      const key = this.#serviceKey(lane, other);
      const services = this.#served.get(key) ?? new Map<Lane, number>();
      this.#served.set(key, services);
      services.set(tenantLane, (services.get(tenantLane) ?? 0) + 1);
      if ((services.get(tenantLane) as number) > 1) {
        this.fail(
          `${nameOf(call)}: ${tenantLane.label} was served twice at ${lane.label} while ${other.label} could run`,
        );
      }
    }
  }

  #serviceKey(lane: Lane, tenant: Lane): string {
    return `${lane.id}|${tenant.id}`;
  }

  #forgetServices(): void {
    const present = new Set(
      this.waiting()
        .filter((call) => callerOf(call) === null)
        .map(({ set }) => this.#serviceKey(set.resourceLane ?? set.toolLane, set.tenantLane)),
    );
    for (const key of [...this.#served.keys()]) if (!present.has(key)) this.#served.delete(key);
  }

  /** Everything that must be true between two steps. */
  check(): void {
    this.#forgetServices();
    this.#checkCounts();
    for (const call of this.waiting()) {
      if (this.#couldRun(call) && !this.#keptFrom(call)) this.fail(`4.5: ${nameOf(call)} waits beside its places`);
    }
    if (this.waiting().some((call) => callerOf(call) !== null)) {
      const stuck = this.#stuck().filter((call) => callerOf(call) !== null);
      if (stuck.length > 0) this.fail(`4.7: nobody named the deadlock of ${stuck.map(nameOf).join(", ")}`);
    }
    if (this.engine.waiting !== this.waiting().length) this.fail("the count of waiting calls is wrong");
    if (this.engine.inFlight !== this.held().length) this.fail("the count of held permits is wrong");
    if (this.engine.inFlight === 0 && this.engine.waiting > 0 && this.clock.pending === 0)
      this.fail("a wake-up was lost");
    this.#checkKeepers();
  }

  #checkCounts(): void {
    const taken = new Map<Lane, { owned: number; working: number }>();
    const waiting = new Map<Lane, number>();
    for (const call of this.waiting()) for (const lane of call.set.all) waiting.set(lane, (waiting.get(lane) ?? 0) + 1);
    for (const call of this.held()) {
      const { nesting } = call;
      for (const lane of call.set.all) {
        const entry = taken.get(lane) ?? { owned: 0, working: 0 };
        taken.set(lane, entry);
        if (nesting?.borrowed.has(lane) !== true) entry.owned += 1;
        if (nesting === null || nesting.children.size === 0) entry.working += 1;
      }
    }
    for (const [lane, { owned, working }] of taken) {
      if (lane.used !== owned) this.fail(`${lane.label} counts ${lane.used} places of ${owned}`);
      const lowered = this.lowered.has(lane.label);
      if (!lowered && owned > lane.bound) this.fail(`4.4: ${lane.label} has ${owned} of ${lane.bound} places taken`);
      if (!lowered && working > lane.bound)
        this.fail(`4.6: ${working} bodies work in ${lane.label}, bound ${lane.bound}`);
    }
    for (const call of this.calls) {
      for (const lane of call.set.all) {
        if (!taken.has(lane) && lane.used !== 0) this.fail(`4.10: ${lane.label} leaked a place`);
        if (lane.waiting !== (waiting.get(lane) ?? 0)) this.fail(`${lane.label} counts ${lane.waiting} waiting calls`);
      }
    }
  }

  /** Lanes whose bound was lowered below what was taken. */
  readonly lowered: Set<string> = new Set();

  /** Semantics 4.5: a lane is kept for one call at a time, and that call waits. */
  #checkKeepers(): void {
    for (const call of this.calls) {
      for (const lane of call.set.all) {
        if (lane.keeper !== null && !isWaiting(lane.keeper))
          this.fail(`${lane.label} is kept for ${nameOf(lane.keeper)}, who is gone`);
        for (const starved of lane.starved ?? [])
          if (!isWaiting(starved)) this.fail(`${lane.label} lists ${nameOf(starved)}, who is gone`);
      }
    }
  }

  /** Semantics 4.7, as a least fixpoint over everything: who can end, who can run; the rest never will. */
  #stuck(): Permit[] {
    const held = this.held();
    const waiting = this.waiting();
    const ending = new Set<Permit>();
    const running = new Set<Permit>();
    for (let grew = true; grew; ) {
      grew = false;
      for (const body of held) {
        if (ending.has(body)) continue;
        if (waiting.some((call) => isCallerOf(body, call) && !running.has(call))) continue;
        if (held.some((nested) => isCallerOf(body, nested) && !ending.has(nested))) continue;
        ending.add(body);
        grew = true;
      }
      for (const call of waiting) {
        if (running.has(call) || !call.set.all.every((lane) => this.#opens(lane, call, held, ending))) continue;
        running.add(call);
        grew = true;
      }
    }
    return waiting.filter((call) => !running.has(call));
  }

  #opens(lane: Lane, call: Permit, held: Permit[], ending: Set<Permit>): boolean {
    if (lane.used < lane.bound || lenderOf(call, lane) !== null) return true;
    let freed = 0;
    for (const owner of held) {
      if (!owner.set.has(lane) || owner.nesting?.borrowed.has(lane) === true) continue;
      let user = owner;
      for (
        let next = user.nesting?.lent.get(lane);
        next !== undefined && isCallerOf(user, call);
        next = user.nesting?.lent.get(lane)
      )
        user = next;
      if (!ending.has(user)) continue;
      if (user !== owner) return true;
      freed += 1;
    }
    return freed > lane.used - lane.bound;
  }

  #checkDeadlock(call: Permit): void {
    this.deadlocks += 1;
    if (!this.#stuck().includes(call)) this.fail(`4.7: ${nameOf(call)} is no deadlock`);
  }

  /** Semantics 4.10: at the end nothing is left of anything. */
  checkEnd(): void {
    if (this.waiting().length > 0) this.fail("somebody waits at the end");
    if (this.held().length > 0) this.fail("somebody holds places at the end");
    this.clock.moveTo(this.clock.time + 1e9);
    const { lanes, nestedGroups, abandoned, putForwardAgain, inVain, lastHeld } = this.engine;
    for (const kind of ["tenants", "arguments", "exclusives", "stores"] as const) {
      if (lanes[kind].size > 0) this.fail(`${lanes[kind].size} ${kind} are left`);
    }
    if (nestedGroups.size + abandoned.size + putForwardAgain.size + inVain.length > 0 || lastHeld !== null)
      this.fail("books are left");
    for (const call of this.calls) {
      for (const lane of call.set.all) {
        const left = [
          lane.entries?.size,
          lane.round?.size,
          lane.parked?.size,
          lane.nestedParked?.size,
          lane.waitingOwners?.size,
        ];
        if (
          left.some((size) => size !== undefined && size > 0) ||
          lane.starved !== null ||
          lane.keeper !== null ||
          lane.abandoned !== 0
        ) {
          this.fail(`${lane.label} is not empty: ${left.join()}`);
        }
      }
    }
    if (this.clock.pending > 0) this.fail("a timer is left");
  }
}
