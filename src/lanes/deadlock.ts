/**
 * Finding a nested call that can never run (`Semantics 4.7`).
 *
 * Only nested calls can close a ring: all others hold nothing while they wait (`Semantics 4.4`). So the search starts
 * when a nested call begins to wait, and mostly ends at once, at a holder that is free to end.
 *
 * D1 A body waits for every nested call that it has started, awaited or not; an ordinary body can always end.
 * D2 A call that is named can not run whatever the others do, and one that can never run is named.
 * D3 A rate opens by itself, and is no reason.
 */

import { lenderOf } from "./admission.ts";
import { describeCall } from "./call-facts.ts";
import type { CallGroup } from "./call-group.ts";
import type { Lane } from "./lane.ts";
import { isCallerOf } from "./nesting.ts";
import type { Permit } from "./permit.ts";

/** What keeps a call out of one lane: bodies that wait themselves. */
interface Obstacle {
  readonly lane: Lane;
  /** Who has the lane's places, as far as they wait. */
  readonly owners: readonly Permit[];
  /** Of these, who has its place from a caller of the call: if one ends, the call may borrow at once. */
  readonly lentByCaller: ReadonlySet<Permit>;
  /** How many of the owners must end before a place is free. */
  readonly missing: number;
}

/** The ring that keeps `call` from ever running, one line a link; null when it can run. */
export function findDeadlock(call: Permit): string[] | null {
  const waitingBelow = reachFrom(call);
  if (waitingBelow.size === 0) return null;
  const ending = whoCanEnd(waitingBelow);
  return canRun(call, ending) ? null : describeRing(call, waitingBelow, ending);
}

/** Every waiting body that stands in the way of `call`, directly or through others, and the calls it waits for. */
function reachFrom(call: Permit): Map<Permit, Permit[]> {
  const reached = new Map<Permit, Permit[]>();
  const seen = new Set<Permit>([call]);
  const open = [call];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const { owners } of obstaclesOf(next)) {
      for (const owner of owners) {
        if (reached.has(owner)) continue;
        const awaited = headsBelow(owner);
        reached.set(owner, awaited);
        for (const head of awaited) {
          if (seen.has(head)) continue;
          seen.add(head);
          open.push(head);
        }
      }
    }
  }
  return reached;
}

/** The least set of bodies that can end: each needs every call that it waits for to run first. */
function whoCanEnd(reached: Map<Permit, Permit[]>): Set<Permit> {
  const ending = new Set<Permit>();
  for (let grew = true; grew; ) {
    grew = false;
    for (const [owner, awaited] of reached) {
      if (ending.has(owner) || !awaited.every((call) => canRun(call, ending))) continue;
      ending.add(owner);
      grew = true;
    }
  }
  return ending;
}

function canRun(call: Permit, ending: ReadonlySet<Permit>): boolean {
  return obstaclesOf(call).every((obstacle) => givesWay(obstacle, ending));
}

function givesWay({ owners, lentByCaller, missing }: Obstacle, ending: ReadonlySet<Permit>): boolean {
  let ended = 0;
  for (const owner of owners) {
    if (!ending.has(owner)) continue;
    if (lentByCaller.has(owner)) return true;
    ended += 1;
  }
  return ended >= missing;
}

function obstaclesOf(call: Permit): Obstacle[] {
  const obstacles: Obstacle[] = [];
  for (const lane of call.set.all) {
    if (lane.used < lane.bound || lenderOf(call, lane) !== null) continue;
    const obstacle = obstacleIn(lane, call);
    if (obstacle !== null) obstacles.push(obstacle);
  }
  return obstacles;
}

/** Null when enough holders are free to end: found without looking at any, as nearly always. */
function obstacleIn(lane: Lane, call: Permit): Obstacle | null {
  const waiting = lane.waitingOwners;
  const toFree = lane.used - lane.bound + 1;
  if (waiting === null || lane.used - waiting.size >= toFree) return null;
  let free = lane.used - waiting.size;
  const owners: Permit[] = [];
  const lentByCaller = new Set<Permit>();
  for (const owner of waiting) {
    let user = owner;
    // What a caller of the call has lent comes back to that caller, of whom the call may borrow it.
    while (isCallerOf(user, call)) {
      const borrower = user.nesting?.lent.get(lane);
      if (borrower === undefined) break;
      user = borrower;
    }
    if ((user.nesting?.waitingBelow ?? 0) === 0) {
      if (user !== owner) return null;
      free += 1;
      continue;
    }
    owners.push(user);
    if (user !== owner) lentByCaller.add(user);
  }
  return free >= toFree ? null : { lane, owners, lentByCaller, missing: toFree - free };
}

/** The heads of all queues below a caller: those behind a head have the same lanes. */
function headsBelow(caller: Permit): Permit[] {
  const heads: Permit[] = [];
  for (const group of caller.nesting?.groupsBelow ?? new Set<CallGroup>()) {
    for (const { head } of group.queues.values()) if (head !== null) heads.push(head);
  }
  return heads;
}

function describeRing(call: Permit, reached: Map<Permit, Permit[]>, ending: ReadonlySet<Permit>): string[] {
  const links: string[] = [];
  const seen = new Set<Permit>();
  let waiter: Permit | undefined = call;
  while (waiter !== undefined && !seen.has(waiter)) {
    seen.add(waiter);
    const obstacle: Obstacle | undefined = obstaclesOf(waiter).find((other) => !givesWay(other, ending));
    const owner: Permit | undefined = obstacle?.owners.find((other) => !ending.has(other));
    if (obstacle === undefined || owner === undefined) break;
    links.push(`${describeCall(waiter)} waits for ${obstacle.lane.label}, held by ${describeCall(owner)}`);
    waiter = reached.get(owner)?.find((awaited) => !canRun(awaited, ending));
  }
  return links;
}
