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
import { fileGroup, fileQueue, putForward } from "./parking.ts";
import { CallState, type Permit } from "./permit.ts";
import { countPassedOver } from "./reservation.ts";

/**
 * Hands on the places that calls of `set` gave back, one in each lane. The order matters:
 *
 * 1. Calls that only their turn or identical arguments held back stand with their groups again, or age and round would
 *    not see them.
 * 2. In the rounds of tool and resource, the tenants whose turn comes before this tenant's. (Its own calls first would
 *    break the round.)
 * 3. The tenant's oldest call that can run. (The rest of the round first would let its hot tool starve its others.)
 * 4. Whoever is left in the rounds.
 */
export function handOn(engine: LaneEngine, set: LaneSet): void {
  const { tenantLane: tenant, turnLane: turn, toolLane: tool, resourceLane: resource, inner } = set;
  let surfaced: Set<CallGroup> | null = null;
  if (turn?.hasParked) surfaced = surface(engine, turn, surfaced);
  if (inner !== null) for (const lane of inner) if (lane.hasParked) surfaced = surface(engine, lane, surfaced);

  let toolTurn: number | undefined;
  let resourceTurn: number | undefined;
  if (tenant.waiting > 0 && tenant.isOpen) {
    toolTurn = tool.entries?.get(tenant)?.rank;
    resourceTurn = resource?.entries?.get(tenant)?.rank;
  }
  if (tool.used < tool.bound) pump(engine, tool, toolTurn);
  if (resource !== null) pump(engine, resource, resourceTurn);
  if (surfaced !== null) pumpSurfaced(engine, surfaced, set);
  if (tenant.used < tenant.bound) pump(engine, tenant);
  if (toolTurn !== undefined && tool.used < tool.bound) pump(engine, tool);
  if (resource !== null && resourceTurn !== undefined) pump(engine, resource);

  putForwardAgain(engine);
  if (turn !== null && turn.keeper !== null && turn.used < turn.bound) reopen(engine, turn);
}

/** Looks at what is parked on a lane that may have opened by itself: time passed, a bound was raised, a keeper left. */
export function reopen(engine: LaneEngine, lane: Lane): void {
  if (lane.round !== null || lane.kind === "tenant") pump(engine, lane);
  else {
    const surfaced = surface(engine, lane, null);
    if (surfaced !== null) pumpSurfaced(engine, surfaced, null);
  }
  putForwardAgain(engine);
}

/** Admits what can run of a group of nested calls, and parks the rest again: a lent place came back, or a turn opened. */
export function retryNested(engine: LaneEngine, group: CallGroup): void {
  for (let admitted = true; admitted; ) {
    admitted = false;
    for (const queue of [...group.queues.values()]) {
      while (queue.head !== null && shutInner(queue.head) === null && shutOuter(queue.head) === null) {
        engine.admit(queue.head);
        admitted = true;
      }
    }
  }
  for (const queue of [...group.queues.values()]) fileQueue(engine, queue);
}

/** Hands on what is free in one lane. With `before`, only to tenants whose turn in the round comes before that. */
export function pump(engine: LaneEngine, lane: Lane, before?: number): void {
  let inVain: Permit[] | null = null;
  for (;;) {
    if (lane.keeper !== null && admitKeeper(engine, lane)) continue;
    const unit = nextParked(lane, before);
    if (unit === undefined) break;
    const queue = unit instanceof CallGroup ? (unit.ready.top() as CallQueue) : unit;
    const call = queue.head as Permit;
    const shutByFew = shutInner(call);
    const shut = shutByFew ?? shutOuter(call);
    if (shut === null) {
      engine.admit(call);
      if (inVain !== null)
        for (const other of inVain) if (isWaiting(other)) countPassedOver(other, engine.passedOverLimit);
      inVain = null;
      continue;
    }
    if (shut === lane) break;
    // Only a full lane starves a call: one that a rate shuts opens by itself, and is no place that others took.
    if (callerOf(call) === null && isFull(shut)) {
      inVain ??= [];
      inVain.push(call);
    }
    if (shutByFew === null && unit instanceof CallGroup) fileGroup(engine, unit);
    else fileQueue(engine, queue);
  }
  if (lane.starts !== null) engine.armReopening(lane);
}

/** What is looked at next on a lane: only nested calls when the one free place is kept. */
function nextParked(lane: Lane, before: number | undefined): CallQueue | CallGroup | undefined {
  if (lane.isOpen) {
    if (lane.round === null) return lane.parked?.top();
    const entry = lane.round.top();
    return entry !== undefined && (before === undefined || entry.rank < before) ? entry.parked.top() : undefined;
  }
  if (lane.used >= lane.bound || lane.nestedParked === null || lane.starts?.isShut() === true) return undefined;
  return lane.nestedParked.values().next().value;
}

function isFull(lane: Lane): boolean {
  return lane.used + (lane.keeper === null ? 0 : 1) >= lane.bound;
}

/** Read through a function: what happened meanwhile may have changed it. */
function isWaiting(call: Permit): boolean {
  return call.state === CallState.waiting;
}

function admitKeeper(engine: LaneEngine, lane: Lane): boolean {
  const keeper = lane.keeper as Permit;
  if (lane.used >= lane.bound || shutOuter(keeper) !== null || shutInner(keeper) !== null) return false;
  engine.admit(keeper);
  return true;
}

/**
 * Brings queues parked on a lane that few share, and that has a place, back to their groups. Gives the groups that
 * could run now, for somebody else to pump: here their age and their tenant's turn are not known.
 */
function surface(engine: LaneEngine, lane: Lane, surfaced: Set<CallGroup> | null): Set<CallGroup> | null {
  while (lane.keeper !== null && admitKeeper(engine, lane));
  if (lane.starts !== null) engine.armReopening(lane);
  if (lane.used >= lane.bound || lane.parked === null) return surfaced;
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
    const { group } = queue;
    if (group.caller !== null) {
      add(group);
      continue;
    }
    if (couldRun(group)) {
      add(group);
      putForward(lane, queue);
      // Its tenant may fill up in this very step, before its turn comes: looked at again after that.
      if (group.parkedAt?.kind === "tenant") engine.putForwardAgain.add(lane);
      break;
    }
    if (
      queue.heapIndex >= 0 &&
      queue.parkedAt === null &&
      (group.parkedAt === group.tool || group.parkedAt === group.resource)
    ) {
      putForward(lane, queue);
      break;
    }
  }
  return groups;
}

function couldRun(group: CallGroup): boolean {
  return group.parkedAt !== null && !isShut(group.parkedAt, (group.ready.top() as CallQueue).head as Permit);
}

/** `given`: what is pumped anyway. */
function pumpSurfaced(engine: LaneEngine, groups: Set<CallGroup>, given: LaneSet | null): void {
  for (const group of groups) {
    if (group.caller !== null) retryNested(engine, group);
    else if (group.parkedAt !== null && !isPumpedAnyway(group.parkedAt, given)) pump(engine, group.parkedAt);
  }
}

function isPumpedAnyway(lane: Lane, given: LaneSet | null): boolean {
  return given !== null && (lane === given.toolLane || lane === given.resourceLane || lane === given.tenantLane);
}

function putForwardAgain(engine: LaneEngine): void {
  for (const lane of engine.putForwardAgain) {
    engine.putForwardAgain.delete(lane);
    if (lane.used >= lane.bound || lane.parked === null) continue;
    const surfaced = surfaceOne(engine, lane, null);
    if (surfaced !== null) pumpSurfaced(engine, surfaced, null);
  }
}
