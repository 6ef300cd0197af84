/**
 * Handing free places on to waiting calls (`Semantics 4.5`).
 *
 * Owns the order in which waiting calls are looked at; the taking is `admission.ts`'s, the parking `parking.ts`'s. No
 * user code runs in here: a grant only resolves a promise.
 *
 * H1 No place stays free beside a waiting call that could use it, but for a kept one.
 * H2 Within a tenant and tool the oldest call that could run goes first.
 * H3 Between tenants, turns go round where the place came free.
 * H4 A look costs a constant number of lanes; what is looked at in vain moves to another lane, which pays for the move.
 */
import { isShut, shutInner, shutOuter } from "./admission.ts";
import { CallGroup } from "./call-group.ts";
import type { CallQueue } from "./call-queue.ts";
import type { Lane } from "./lane.ts";
import type { LaneEngine } from "./lane-engine.ts";
import type { LaneSet } from "./lane-set.ts";
import { callerOf } from "./nesting.ts";
import { entryOf, fileGroup, fileQueue, parkAtTenant, putForward, rejoinRound } from "./parking.ts";
import { CallState, type Permit } from "./permit.ts";
import { countPassedOver } from "./reservation.ts";

/**
 * Hands on the places that calls of `set` gave back, one in each lane. The order matters:
 *
 * 1. Calls that only their turn or identical arguments held back stand with their groups again, or age and round would
 *    not see them.
 * 2. In the rounds of tool and resource, the tenants whose turn comes before this tenant's. (Its own calls first would
 *    break the round.)
 * 3. The tenant's oldest call that can run, wherever it is parked. (The rest of the round first would let its hot tool starve its others.)
 * 4. Whoever is left in the rounds.
 */
export function handOn(engine: LaneEngine, set: LaneSet): void {
  const { tenantLane: tenant, turnLane: turn, toolLane: tool, resourceLane: resource, inner } = set;
  let surfaced: Set<CallGroup> | null = null;
  if (turn !== null) surfaced = surface(engine, turn, surfaced);
  if (inner !== null) for (const lane of inner) surfaced = surface(engine, lane, surfaced);

  const before = tenant.waiting > 0 && tenant.isOpen ? tenant : null;
  const rounds = resource === null ? [tool] : [tool, resource];
  if (surfaced !== null) for (const { parkedAt } of surfaced) if (isOtherRound(parkedAt, rounds)) rounds.push(parkedAt);
  pumpRounds(engine, rounds, before);
  if (surfaced !== null) pumpSurfaced(engine, surfaced, [...rounds, tenant]);
  if (before !== null && tenant.hasParked) standByAge(engine, tenant, rounds);
  if (tenant.used < tenant.bound) pump(engine, tenant);
  if (before !== null) pumpRounds(engine, rounds, null);

  putForwardAgain(engine);
  // Whoever became a keeper meanwhile.
  if (turn !== null && turn.keeper !== null && turn.used < turn.bound) reopen(engine, turn);
  if (inner !== null)
    for (const lane of inner) if (lane.keeper !== null && lane.used < lane.bound) reopen(engine, lane);
  engine.inVain.length = 0;
}

/** A tenant's calls in the rounds stand with those that it held back itself: the oldest of them all goes first. */
function standByAge(engine: LaneEngine, tenant: Lane, rounds: readonly Lane[]): void {
  for (const lane of rounds) {
    for (const group of [...(lane.entries?.get(tenant)?.parked.items ?? [])]) {
      if (group.caller === null && !isShut(lane, headOf(group))) parkAtTenant(engine, group);
    }
  }
}

/** Looks at what is parked on a lane that may have opened by itself: time passed, a bound was raised, a keeper left. */
export function reopen(engine: LaneEngine, lane: Lane): void {
  if (lane.round !== null || lane.kind === "tenant") pump(engine, lane);
  else {
    const surfaced = surface(engine, lane, null);
    if (surfaced !== null) pumpSurfaced(engine, surfaced, []);
  }
  putForwardAgain(engine);
  engine.inVain.length = 0;
}

/**
 * Looks at everything after bounds have changed. Calls that their tenant held back stand in the rounds again first: of
 * several tenants with new places, one must not take all that their tool has.
 */
export function reopenAll(engine: LaneEngine, lanes: ReadonlySet<Lane>): void {
  for (const lane of lanes) {
    if (lane.kind !== "tenant" || lane.parked === null) continue;
    for (const unit of [...lane.parked.items]) {
      if (unit instanceof CallGroup && !isShut(lane, headOf(unit))) rejoinRound(engine, unit);
    }
  }
  for (const lane of lanes) if (lane.round === null && lane.kind !== "tenant") surface(engine, lane, null);
  pumpRounds(
    engine,
    [...lanes].filter((lane) => lane.round !== null),
    null,
  );
  for (const lane of lanes) if (lane.hasParked) reopen(engine, lane);
  // A rate that has gone kept out also those who may borrow a place of a full lane.
  for (const group of [...engine.nestedGroups]) retryNested(engine, group);
  engine.inVain.length = 0;
}

/** Admits what can run of a group of nested calls, and parks the rest again: a lent place came back, or a turn opened. */
export function retryNested(engine: LaneEngine, group: CallGroup): void {
  for (let admitted = true; admitted; ) {
    admitted = false;
    for (const queue of [...group.queues.values()]) {
      while (queue.head !== null && shutInner(queue.head) === null && shutOuter(queue.head) === null) {
        if (!engine.admit(queue.head)) break;
        admitted = true;
      }
    }
  }
  for (const queue of [...group.queues.values()]) fileQueue(engine, queue);
}

/** Hands on what is free in one lane. */
function pump(engine: LaneEngine, lane: Lane): void {
  pumpRounds(engine, [lane], null);
}

/**
 * Hands on what is free in one lane, or in several that are one round then: a tenant whose turn it is at a resource must
 * not be overtaken by those in turn at a tool. With `before`, only to tenants whose turn comes before that tenant's.
 */
function pumpRounds(engine: LaneEngine, lanes: readonly Lane[], before: Lane | null): void {
  for (;;) {
    if (admitKeepers(engine, lanes)) continue;
    const unit = nextOf(lanes, before);
    if (unit === undefined) break;
    const at = unit.parkedAt as Lane;
    const queue = unit instanceof CallGroup ? (unit.ready.top() as CallQueue) : unit;
    const call = queue.head as Permit;
    const shutByFew = shutInner(call);
    const shut = shutByFew ?? shutOuter(call);
    if (shut === null) {
      if (engine.admit(call) && engine.inVain.length > 0) countOvertaken(engine, call);
      continue;
    }
    if (shut === at) break;
    // Only a full lane starves a call: one that a rate shuts opens by itself, and is no place that others took.
    if (callerOf(call) === null && isFull(shut)) engine.inVain.push({ call, at });
    if (shutByFew === null && unit instanceof CallGroup) fileGroup(engine, unit);
    else fileQueue(engine, queue);
  }
  for (const lane of lanes) if (lane.starts !== null) engine.armReopening(lane);
}

/** A call that was looked at on a lane with a place while another of its lanes was full. */
export interface InVain {
  readonly call: Permit;
  readonly at: Lane;
}

/** Of what is next on each lane, that whose turn comes first. */
function nextOf(lanes: readonly Lane[], before: Lane | null): CallQueue | CallGroup | undefined {
  let first: CallQueue | CallGroup | undefined;
  for (const lane of lanes) {
    const unit = nextParked(lane, before);
    if (unit !== undefined && (first === undefined || turnOf(unit) < turnOf(first))) first = unit;
  }
  return first;
}

function turnOf(unit: CallQueue | CallGroup): number {
  return (unit instanceof CallGroup ? entryOf(unit)?.rank : undefined) ?? 0;
}

/** `admitted` took the places at which others were looked at in vain before, in this step. */
function countOvertaken(engine: LaneEngine, admitted: Permit): void {
  const { inVain } = engine;
  const left = inVain.filter(({ call, at }) => {
    if (!admitted.set.has(at)) return true;
    if (call.state === CallState.waiting) countPassedOver(call, engine.passedOverLimit);
    return false;
  });
  inVain.splice(0, inVain.length, ...left);
}

/** What is looked at next on a lane: only nested calls when the one free place is kept, or when there is none. */
function nextParked(lane: Lane, before: Lane | null): CallQueue | CallGroup | undefined {
  if (lane.isOpen) {
    if (lane.round === null) return lane.parked?.top();
    const entry = lane.round.top();
    const group = entry?.parked.top();
    if (entry === undefined || group === undefined || before === null) return group;
    if (entry.tenant === before) return undefined;
    const end = (group.resource ?? group.tool).entries?.get(before)?.rank;
    return end === undefined || entry.rank < end ? group : undefined;
  }
  if (lane.nestedParked === null || lane.starts?.isShut() === true) return undefined;
  if (lane.used < lane.bound) return lane.nestedParked.values().next().value;
  // A rate shuts out also who borrows a place, and it has opened.
  if (lane.starts !== null) for (const unit of lane.nestedParked) if (!isShut(lane, headOf(unit))) return unit;
  return undefined;
}

function headOf(unit: CallQueue | CallGroup): Permit {
  return (unit instanceof CallGroup ? (unit.ready.top() as CallQueue) : unit).head as Permit;
}

function isFull(lane: Lane): boolean {
  return lane.used + (lane.keeper === null ? 0 : 1) >= lane.bound;
}

function admitKeepers(engine: LaneEngine, lanes: readonly Lane[]): boolean {
  for (const lane of lanes) if (lane.keeper !== null && admitKeeper(engine, lane)) return true;
  return false;
}

function admitKeeper(engine: LaneEngine, lane: Lane): boolean {
  const keeper = lane.keeper as Permit;
  if (lane.used >= lane.bound) return false;
  const shut = shutOuter(keeper) ?? shutInner(keeper);
  if (shut === null) return engine.admit(keeper);
  // It may be parked on another lane, where nobody would see this one open.
  if (shut.starts !== null) engine.armReopening(shut);
  return false;
}

/**
 * Brings queues parked on a lane that few share, and that has a place, back to their groups. Gives the groups that
 * could run now, for somebody else to pump: here their age and their tenant's turn are not known.
 */
function surface(engine: LaneEngine, lane: Lane, surfaced: Set<CallGroup> | null): Set<CallGroup> | null {
  while (lane.keeper !== null && admitKeeper(engine, lane));
  if (lane.starts !== null) engine.armReopening(lane);
  if (lane.answers !== null && lane.answers.refused !== null && !lane.nestedParked?.size) return surfaced;
  if (lane.parked === null || (lane.used >= lane.bound && lane.starts === null)) return surfaced;
  if (lane.kind === "arguments") return surfaceOne(engine, lane, surfaced);
  let groups = surfaced;
  // What is parked on a lane that few share are queues.
  for (const queue of [...lane.parked.items] as CallQueue[]) {
    if (queue.parkedAt !== lane || isShut(lane, queue.head as Permit)) continue;
    fileQueue(engine, queue);
    if (couldRun(queue.group)) {
      groups ??= new Set();
      groups.add(queue.group);
    }
  }
  return groups;
}

/**
 * The same for identical arguments, which any number of runs may ask for: one queue is put forward for all the others,
 * since only one can have the place and all want the same tool. When it goes, or must wait for its tenant or its turn,
 * the next is put forward. Nested queues always come back: they may borrow what the one put forward waits for. (An
 * exclusive lane has no such shortcut: its calls are of many tools, and the tool of the one put forward may be full.)
 */
function surfaceOne(engine: LaneEngine, lane: Lane, surfaced: Set<CallGroup> | null): Set<CallGroup> | null {
  let groups = surfaced;
  const add = (group: CallGroup): void => {
    groups ??= new Set();
    groups.add(group);
  };
  if (lane.nestedParked !== null) {
    for (const queue of [...lane.nestedParked] as CallQueue[]) {
      fileQueue(engine, queue);
      add(queue.group);
    }
  }
  while (lane.parked !== null && lane.parked.size > 0) {
    const queue = lane.parked.top() as CallQueue;
    if (isShut(lane, queue.head as Permit)) break;
    fileQueue(engine, queue);
    if (queue.parkedAt === lane) break;
    // Its turn holds it back: it must not stand for those who could run.
    if (queue.parkedAt !== null) continue;
    const { group } = queue;
    if (group.caller !== null) {
      add(group);
      continue;
    }
    if (couldRun(group)) {
      add(group);
      putForward(lane, queue);
      // Its tenant may fill up in this very step, before its turn comes: looked at again after that.
      engine.putForwardAgain.add(lane);
      break;
    }
    if (group.parkedAt === group.tool || group.parkedAt === group.resource) {
      putForward(lane, queue);
      break;
    }
  }
  return groups;
}

function couldRun(group: CallGroup): boolean {
  return group.parkedAt !== null && !isShut(group.parkedAt, (group.ready.top() as CallQueue).head as Permit);
}

function isOtherRound(lane: Lane | null, rounds: readonly Lane[]): lane is Lane {
  return lane !== null && lane.round !== null && !rounds.includes(lane);
}

/** `others`: lanes that are pumped anyway. */
function pumpSurfaced(engine: LaneEngine, groups: Set<CallGroup>, others: readonly Lane[]): void {
  for (const group of [...groups].sort((a, b) => turnOf(a) - turnOf(b))) {
    if (group.caller !== null) retryNested(engine, group);
    else if (group.parkedAt !== null && !others.includes(group.parkedAt)) pump(engine, group.parkedAt);
  }
}

function putForwardAgain(engine: LaneEngine): void {
  for (const lane of engine.putForwardAgain) {
    engine.putForwardAgain.delete(lane);
    if (lane.used >= lane.bound || lane.parked === null) continue;
    const surfaced = surfaceOne(engine, lane, null);
    if (surfaced !== null) pumpSurfaced(engine, surfaced, []);
  }
}
