/**
 * Where calls wait (`Semantics 4.5`).
 *
 * Owns queues, groups and what they are parked on; whether a lane is shut is `admission.ts`'s to say, and when somebody
 * is looked at again is `hand-on.ts`'s.
 *
 * P1 Calls with the same lanes are one queue, first come, first served; only its head is looked at.
 * P2 Whatever waits is parked on exactly one lane, and that lane was shut for it when it was parked: so it need only be
 *    looked at when that lane gets a place. A queue is parked on a lane that few share; otherwise it stands ready in
 *    its group, which is parked as one on a lane that many share.
 * P3 What is parked again is parked on a lane that is shut *now*, or its next wake-up would be lost.
 * P4 When the last call of a queue or group goes, so does the queue or group.
 */
import { firstShut, isShut, shutInner, shutOuter } from "./admission.ts";
import { CallGroup } from "./call-group.ts";
import { CallQueue, type QueueKey } from "./call-queue.ts";
import { Heap } from "./heap.ts";
import { type Lane, WAIT_KIND } from "./lane.ts";
import type { LaneEngine } from "./lane-engine.ts";
import type { LaneSet } from "./lane-set.ts";
import { callerOf, nestingOf } from "./nesting.ts";
import { CallState, type Permit } from "./permit.ts";
import { leaveStarved } from "./reservation.ts";
import { RoundEntry } from "./round-entry.ts";
import { WaitMark } from "./wait-mark.ts";

/** Puts a call that cannot run at the end of its queue. */
export function joinQueue(engine: LaneEngine, call: Permit): void {
  call.state = CallState.waiting;
  engine.lastAge += 1;
  call.age = engine.lastAge;
  call.waitingSince = engine.clock.monotonic();
  engine.waiting += 1;
  countWaiting(call.set, 1);
  const queue = call.set.queue ?? queueOf(engine, call);
  call.set = queue.set;
  queue.group.size += 1;
  if (callerOf(call) !== null) countNestedWait(call);
  if (queue.tail !== null) {
    queue.tail.next = call;
    call.previous = queue.tail;
    queue.tail = call;
  } else {
    queue.head = call;
    queue.tail = call;
    fileQueue(engine, queue);
  }
  call.firstMark = queue.mark;
}

/** Puts a call back at the head of its queue, with the age it had: a store refused it a place. */
export function rejoinQueue(engine: LaneEngine, call: Permit): void {
  call.state = CallState.waiting;
  engine.waiting += 1;
  countWaiting(call.set, 1);
  const queue = call.set.queue ?? queueOf(engine, call);
  call.set = queue.set;
  queue.group.size += 1;
  call.lastMark = null;
  if (callerOf(call) !== null) countNestedWait(call);
  let after: Permit | null = null;
  for (let other = queue.head; other !== null && other.age < call.age; other = other.next) after = other;
  call.previous = after;
  call.next = after === null ? queue.head : after.next;
  if (call.next === null) queue.tail = call;
  else call.next.previous = call;
  const isNew = queue.mark === null;
  if (after === null) {
    queue.head = call;
    fileQueue(engine, queue);
  } else after.next = call;
  // The marks of a queue that went meanwhile went with it.
  if (isNew || call.firstMark === null) call.firstMark = queue.mark;
}

/** Takes a call out of its queue, because it has its places or gives up, and files what it leaves behind. */
export function leaveQueue(engine: LaneEngine, call: Permit): void {
  const queue = call.set.queue as CallQueue;
  const { group } = queue;
  const wasHead = queue.head === call;
  if (call.previous !== null) call.previous.next = call.next;
  else queue.head = call.next;
  if (call.next !== null) call.next.previous = call.previous;
  else queue.tail = call.previous;
  call.previous = null;
  call.next = null;
  call.lastMark = queue.mark;
  engine.waiting -= 1;
  group.size -= 1;
  countWaiting(call.set, -1);
  if (callerOf(call) !== null) uncountNestedWait(call);
  if (call.rare !== null) leaveStarved(call);
  if (wasHead && queue.candidateOf !== null) loseCandidate(engine, queue);
  if (queue.head === null) dropQueue(engine, queue);
  else if (wasHead) headChanged(engine, queue);
}

/** Parks a queue on its first shut lane that few share, or else makes it ready in its group. */
export function fileQueue(engine: LaneEngine, queue: CallQueue): void {
  const head = queue.head as Permit;
  const { group } = queue;
  const shut = shutInner(head);
  noteWait(engine, queue);
  if (shut !== null) {
    if (queue.candidateOf !== null && queue.candidateOf !== shut) loseCandidate(engine, queue);
    if (queue.parkedAt === shut) {
      refileRank(shut.parked as Heap<CallQueue | CallGroup>, queue, head.age);
      // It was full, and now its rate has shut it, too.
      if (shut.starts !== null) engine.armReopening(shut);
      return;
    }
    if (queue.parkedAt !== null) unparkQueue(engine, queue);
    else if (queue.heapIndex >= 0) {
      group.ready.remove(queue);
      fileGroup(engine, group);
    }
    queue.rank = head.age;
    parkQueue(engine, queue, shut);
    return;
  }
  if (queue.parkedAt !== null) unparkQueue(engine, queue);
  if (queue.heapIndex >= 0) refileRank(group.ready, queue, head.age);
  else {
    queue.rank = head.age;
    group.ready.push(queue);
  }
  fileGroup(engine, group);
}

/** Parks a group on the lane that shuts its oldest ready call out; on its tool when none does: whoever filed it admits. */
export function fileGroup(engine: LaneEngine, group: CallGroup): void {
  const oldest = group.ready.top();
  if (oldest === undefined) {
    if (group.parkedAt !== null) unparkGroup(engine, group);
    return;
  }
  const shut = shutOuter(oldest.head as Permit);
  if (shut === null ? group.parkedAt !== null : group.parkedAt === shut) {
    refileGroup(group);
    if (shut !== null && shut.starts !== null) engine.armReopening(shut);
    return;
  }
  if (group.parkedAt !== null) unparkGroup(engine, group);
  if (shut !== null) {
    noteWait(engine, oldest);
    // Its tenant is full: the lanes that put its queues forward must put somebody else forward.
    if (shut.kind === "tenant" && group.candidates !== null) {
      for (const queue of [...group.candidates]) loseCandidate(engine, queue);
    }
  }
  parkGroup(engine, group, shut ?? group.tool);
}

/** Parks a group anew: its tenant has a place, and its turn at its tool may have come. */
export function rejoinRound(engine: LaneEngine, group: CallGroup): void {
  unparkGroup(engine, group);
  fileGroup(engine, group);
}

/** Parks a group where the calls of its tenant are looked at by age, whatever shuts it out. */
export function parkAtTenant(engine: LaneEngine, group: CallGroup): void {
  unparkGroup(engine, group);
  parkGroup(engine, group, group.tenant);
}

/**
 * A tenant was served: its turn in the rounds comes after everybody's who waits there. What it was served at a resource
 * counts at every tool that shares it, or two tenants in turn at one tool could keep out a third at another for ever.
 */
export function markServed(engine: LaneEngine, { tenantLane, toolLane, resourceLane }: LaneSet): void {
  engine.lastService += 1;
  moveToTail(toolLane.entries?.get(tenantLane), engine.lastService);
  const entry = resourceLane?.entries?.get(tenantLane);
  if (entry === undefined) return;
  moveToTail(entry, engine.lastService);
  for (const toolEntry of entry.toolEntries) moveToTail(toolEntry, engine.lastService);
}

/** Remembers that a lane of bound 1 put `queue` forward for all that it holds back. */
export function putForward(lane: Lane, queue: CallQueue): void {
  queue.candidateOf = lane;
  queue.group.candidates ??= new Set();
  queue.group.candidates.add(queue);
}

function loseCandidate(engine: LaneEngine, queue: CallQueue): void {
  const lane = queue.candidateOf as Lane;
  queue.candidateOf = null;
  queue.group.candidates?.delete(queue);
  if (lane.used < lane.bound && lane.hasParked) engine.putForwardAgain.add(lane);
}

/** The head went and another call is it now: mostly as shut out as the one before, so the queue stays where it is. */
function headChanged(engine: LaneEngine, queue: CallQueue): void {
  const { group } = queue;
  const head = queue.head as Permit;
  if (queue.parkedAt !== null) {
    if (isShut(queue.parkedAt, head)) refileRank(queue.parkedAt.parked as Heap<CallQueue | CallGroup>, queue, head.age);
    else fileQueue(engine, queue);
    return;
  }
  if (group.parkedAt !== null && isShut(group.parkedAt, (group.ready.top() as CallQueue).head as Permit)) {
    refileRank(group.ready, queue, head.age);
    refileGroup(group);
  } else fileQueue(engine, queue);
}

function dropQueue(engine: LaneEngine, queue: CallQueue): void {
  const { group } = queue;
  queue.set.queue = null;
  if (queue.parkedAt !== null) unparkQueue(engine, queue);
  else if (queue.heapIndex >= 0) group.ready.remove(queue);
  group.queues.delete(queue.key);
  if (group.size > 0) {
    fileGroup(engine, group);
    return;
  }
  if (group.parkedAt !== null) unparkGroup(engine, group);
  leaveRound(group.toolEntry);
  if (group.resourceEntry !== null) {
    leaveRound(group.resourceEntry);
    if (group.toolEntry.members === 0) group.resourceEntry.toolEntries.delete(group.toolEntry);
  }
  const { caller } = group;
  if (caller === null) {
    group.toolEntry.groups.delete(group.resource);
    return;
  }
  const { groups } = nestingOf(caller);
  groups.splice(groups.indexOf(group), 1);
  engine.nestedGroups.delete(group);
  for (let above: Permit | null = caller; above !== null; above = callerOf(above)) {
    above.nesting?.groupsBelow.delete(group);
  }
}

function queueOf(engine: LaneEngine, call: Permit): CallQueue {
  const group = groupOf(engine, call);
  const key = keyOf(call.set);
  let queue = group.queues.get(key);
  if (queue === undefined) {
    queue = new CallQueue(group, call.set, key);
    group.queues.set(key, queue);
    call.set.queue = queue;
  }
  return queue;
}

function keyOf({ turnLane, inner }: LaneSet): QueueKey {
  return inner === null ? turnLane : `${turnLane?.id} ${inner.map((lane) => lane.id).join(" ")}`;
}

function groupOf(engine: LaneEngine, call: Permit): CallGroup {
  const { tenantLane, toolLane, resourceLane } = call.set;
  const caller = callerOf(call);
  const known =
    caller === null
      ? toolLane.entries?.get(tenantLane)?.groups.get(resourceLane)
      : nestingOf(caller).groups.find((group) => group.tool === toolLane && group.resource === resourceLane);
  if (known !== undefined) return known;
  const resourceEntry = resourceLane === null ? null : joinRound(engine, resourceLane, tenantLane);
  const toolEntry = joinRound(engine, toolLane, tenantLane, resourceEntry?.rank);
  resourceEntry?.toolEntries.add(toolEntry);
  const group = new CallGroup(tenantLane, toolLane, resourceLane, caller, toolEntry, resourceEntry);
  if (caller === null) toolEntry.groups.set(resourceLane, group);
  else {
    nestingOf(caller).groups.push(group);
    engine.nestedGroups.add(group);
    for (let above: Permit | null = caller; above !== null; above = callerOf(above))
      nestingOf(above).groupsBelow.add(group);
  }
  return group;
}

function joinRound(engine: LaneEngine, lane: Lane, tenant: Lane, rank?: number): RoundEntry {
  lane.entries ??= new Map();
  lane.round ??= new Heap();
  let entry = lane.entries.get(tenant);
  if (entry === undefined) {
    if (rank === undefined) engine.lastService += 1;
    entry = new RoundEntry(lane, tenant, rank ?? engine.lastService);
    lane.entries.set(tenant, entry);
  }
  entry.members += 1;
  return entry;
}

function leaveRound(entry: RoundEntry): void {
  entry.members -= 1;
  if (entry.members === 0) entry.lane.entries?.delete(entry.tenant);
}

function moveToTail(entry: RoundEntry | undefined, service: number): void {
  if (entry === undefined) return;
  entry.rank = service;
  if (entry.heapIndex >= 0) entry.lane.round?.refile(entry);
}

function parkQueue(engine: LaneEngine, queue: CallQueue, lane: Lane): void {
  queue.parkedAt = lane;
  lane.parked ??= new Heap();
  lane.parked.push(queue);
  if (queue.group.caller !== null) {
    lane.nestedParked ??= new Set();
    lane.nestedParked.add(queue);
  }
  if (lane.starts !== null) engine.armReopening(lane);
}

function unparkQueue(engine: LaneEngine, queue: CallQueue): void {
  const lane = queue.parkedAt as Lane;
  queue.parkedAt = null;
  lane.parked?.remove(queue);
  if (queue.group.caller !== null) lane.nestedParked?.delete(queue);
  if (lane.starts !== null) engine.disarmReopening(lane);
}

function parkGroup(engine: LaneEngine, group: CallGroup, lane: Lane): void {
  group.parkedAt = lane;
  group.rank = (group.ready.top() as CallQueue).rank;
  if (group.caller !== null) {
    lane.nestedParked ??= new Set();
    lane.nestedParked.add(group);
  }
  heapOf(group).push(group);
  const entry = entryOf(group);
  if (entry !== null && entry.heapIndex < 0) lane.round?.push(entry);
  if (lane.starts !== null) engine.armReopening(lane);
}

function unparkGroup(engine: LaneEngine, group: CallGroup): void {
  const lane = group.parkedAt as Lane;
  heapOf(group).remove(group);
  const entry = entryOf(group);
  if (entry !== null && entry.parked.size === 0) lane.round?.remove(entry);
  group.parkedAt = null;
  if (group.caller !== null) lane.nestedParked?.delete(group);
  if (lane.starts !== null) engine.disarmReopening(lane);
}

/** Its place in the round of the lane it is parked on; null on a tenant's lane, which keeps what waits by age. */
export function entryOf(group: CallGroup): RoundEntry | null {
  if (group.parkedAt === group.tool) return group.toolEntry;
  return group.parkedAt === group.resource ? group.resourceEntry : null;
}

function heapOf(group: CallGroup): Heap<CallGroup> {
  const entry = entryOf(group);
  if (entry !== null) return entry.parked;
  const lane = group.parkedAt as Lane;
  lane.parked ??= new Heap();
  return lane.parked as Heap<CallGroup>;
}

function refileGroup(group: CallGroup): void {
  const { rank } = group.ready.top() as CallQueue;
  if (rank === group.rank) return;
  refileRank(heapOf(group), group, rank);
}

function refileRank<T extends CallQueue | CallGroup>(heap: Heap<T>, item: T, rank: number): void {
  if (item.rank === rank) return;
  item.rank = rank;
  if (heap.size > 1) heap.refile(item);
}

/** Puts the time from now on down to the kind of lane that is in the head's way now. */
function noteWait(engine: LaneEngine, queue: CallQueue): void {
  const lane = firstShut(queue.head as Permit);
  if (lane === null && queue.mark !== null) return;
  const kind = lane === null ? "tool" : WAIT_KIND[lane.kind];
  if (queue.mark === null) queue.mark = WaitMark.first(kind, (queue.head as Permit).waitingSince);
  else if (queue.mark.kind !== kind) queue.mark = queue.mark.next(kind, engine.clock.monotonic());
}

function countWaiting(set: LaneSet, calls: 1 | -1): void {
  set.tenantLane.waiting += calls;
  set.toolLane.waiting += calls;
  if (set.turnLane !== null) set.turnLane.waiting += calls;
  if (set.resourceLane !== null) set.resourceLane.waiting += calls;
  if (set.inner !== null) for (const lane of set.inner) lane.waiting += calls;
}

/** From now on every caller above waits; each of its own places counts as held by somebody who waits. */
function countNestedWait(call: Permit): void {
  for (let above = callerOf(call); above !== null; above = callerOf(above)) {
    const nesting = nestingOf(above);
    nesting.waitingBelow += 1;
    if (nesting.waitingBelow > 1 || above.state !== CallState.held) continue;
    for (const lane of above.set.all) if (!nesting.borrowed.has(lane)) noteWaitingOwner(lane, above);
  }
}

function uncountNestedWait(call: Permit): void {
  for (let above = callerOf(call); above !== null; above = callerOf(above)) {
    const nesting = nestingOf(above);
    nesting.waitingBelow -= 1;
    if (nesting.waitingBelow === 0) for (const lane of above.set.all) lane.waitingOwners?.delete(above);
  }
}

export function noteWaitingOwner(lane: Lane, owner: Permit): void {
  lane.waitingOwners ??= new Set();
  lane.waitingOwners.add(owner);
}
