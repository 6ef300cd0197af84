/**
 * Giving places back, and lent ones among them (`Semantics 4.6`, `4.8`).
 *
 * G1 A place goes back once, whoever says so and however often.
 * G2 Whoever ends in the middle of a chain of lending leaves the ends of it tied to each other.
 * G3 An owner that ends while its place is lent leaves the place to the borrower.
 * G4 A place that returns to its lender is offered at once to what waits below that lender.
 * G5 A body that has ended keeps its places until the last call nested in it has gone.
 */

import { handOn, retryNested } from "./hand-on.ts";
import { type Lane, storeName } from "./lane.ts";
import type { LaneEngine } from "./lane-engine.ts";
import type { LaneSet } from "./lane-set.ts";
import type { StoredPlaces } from "./lane-store.ts";
import { type Nesting, nearestHolding, nestingOf } from "./nesting.ts";
import { noteWaitingOwner } from "./parking.ts";
import { CallState, type Permit, rareOf } from "./permit.ts";

/** Gives back every place of a held permit, hands them on, and then what only waited for this permit to go. */
export function giveBack(engine: LaneEngine, permit: Permit): void {
  for (let going: Permit | null = permit; going !== null; going = callerThatMayGo(going)) giveBackOne(engine, going);
}

/** The body of a held permit has ended: its places go back now, or with the last nested call. */
export function endBody(engine: LaneEngine, permit: Permit): void {
  const { nesting } = permit;
  if (nesting === null || nesting.isAlone) giveBack(engine, permit);
  else nesting.bodyEnded = true;
}

/** Gives a held permit's places back although its body runs, which its lanes count until {@link forgetAbandoned}. */
export function abandonBody(engine: LaneEngine, permit: Permit): void {
  if (permit.nesting?.bodyEnded !== true) {
    rareOf(permit).abandoned = true;
    for (const lane of permit.set.all) lane.abandoned += 1;
    engine.abandoned.add(permit);
  }
  giveBack(engine, permit);
}

/** The abandoned body has ended after all. */
export function forgetAbandoned(engine: LaneEngine, permit: Permit): void {
  if (permit.rare === null || !permit.rare.abandoned) return;
  permit.rare.abandoned = false;
  engine.abandoned.delete(permit);
  for (const lane of permit.set.all) {
    lane.abandoned -= 1;
    engine.lanes.collect(lane);
  }
}

/** The last nested call has gone, or gave up waiting: a caller whose body ended before goes now (G5). */
export function callerThatMayGo(call: Permit): Permit | null {
  const caller = call.nesting === null ? null : nearestHolding(call.nesting.caller);
  return caller?.nesting?.bodyEnded === true && caller.nesting.isAlone ? caller : null;
}

function giveBackOne(engine: LaneEngine, permit: Permit): void {
  permit.state = CallState.givenBack;
  engine.unlist(permit);
  const lenders = takeBack(engine, permit);
  if (permit.rare !== null && permit.rare.onGivenBack !== null) {
    engine.afterwards.push(...permit.rare.onGivenBack);
    permit.rare.onGivenBack = null;
  }
  handOnAfter(engine, permit.set, lenders);
  engine.lanes.collectSet(permit.set);
}

/** Takes every place away from a call that has them, here and in the store. Gives the lenders that have a place back. */
export function takeBack(engine: LaneEngine, permit: Permit): Set<Permit> | null {
  const { nesting, rare } = permit;
  let lenders: Set<Permit> | null = null;
  if (nesting === null) freeAll(permit);
  else lenders = untie(permit, nesting);
  if (rare !== null && rare.stored !== null) {
    // Before anybody here asks for them again.
    for (const places of new Set(rare.stored.values())) {
      releaseStored(
        engine,
        places,
        [...rare.stored.keys()].filter((lane) => rare.stored?.get(lane) === places),
      );
    }
    rare.stored = null;
  }
  return lenders;
}

/** Hands on the places that calls of `set` gave back, and offers what was lent to those below its lenders. */
export function handOnAfter(engine: LaneEngine, set: LaneSet, lenders: Set<Permit> | null): void {
  if (engine.waiting === 0) return;
  if (set.tenantLane.readBound !== null) set.tenantLane.readBound();
  handOn(engine, set);
  if (lenders === null) return;
  for (const lender of lenders) {
    if (lender.nesting !== null) for (const group of [...lender.nesting.groupsBelow]) retryNested(engine, group);
  }
}

/** Gives places back to the store; that it fails is nobody's call's fault. */
export function releaseStored(engine: LaneEngine, places: StoredPlaces, lanes: readonly Lane[]): void {
  try {
    const done = engine.askOutside(() => places.release(lanes.map(storeName)));
    if (done !== undefined) Promise.resolve(done).catch((error: unknown) => engine.report(error));
  } catch (error) {
    engine.afterwards.push(() => {
      throw error;
    });
  }
}

function freeAll({ set }: Permit): void {
  set.tenantLane.used -= 1;
  set.toolLane.used -= 1;
  if (set.turnLane !== null) set.turnLane.used -= 1;
  if (set.resourceLane !== null) set.resourceLane.used -= 1;
  if (set.inner !== null) for (const lane of set.inner) lane.used -= 1;
}

/** Takes a permit out of its chains of lending. Gives the lenders that have a place back. */
function untie(permit: Permit, nesting: Nesting): Set<Permit> | null {
  const caller = nearestHolding(nesting.caller);
  if (caller !== null) nestingOf(caller).children.delete(permit);
  for (const child of nesting.children) {
    nestingOf(child).caller = caller;
    if (caller !== null) nestingOf(caller).children.add(child);
  }
  nesting.children.clear();
  let lenders: Set<Permit> | null = null;
  for (const lane of permit.set.all) {
    lane.waitingOwners?.delete(permit);
    const lender = nesting.borrowed.get(lane);
    const borrower = nesting.lent.get(lane);
    if (borrower !== undefined && lender === undefined) passOnStored(lane, permit, borrower);
    if (!passOn(lane, borrower, lender)) {
      if (lender === undefined) lane.used -= 1;
      else {
        lender.nesting?.lent.delete(lane);
        lenders ??= new Set();
        lenders.add(lender);
      }
    }
  }
  nesting.lent.clear();
  nesting.borrowed.clear();
  return lenders;
}

/** The borrower owns the place now, in the store too. */
function passOnStored(lane: Lane, owner: Permit, borrower: Permit): void {
  const places = owner.rare?.stored?.get(lane);
  if (places === undefined) return;
  owner.rare?.stored?.delete(lane);
  const rare = rareOf(borrower);
  rare.stored ??= new Map();
  rare.stored.set(lane, places);
}

/** Ties a borrower to the lender beyond (G2), or makes it the owner (G3). False when nobody has borrowed. */
function passOn(lane: Lane, borrower: Permit | undefined, lender: Permit | undefined): boolean {
  if (borrower === undefined) return false;
  const ties = nestingOf(borrower);
  if (lender !== undefined) {
    ties.borrowed.set(lane, lender);
    nestingOf(lender).lent.set(lane, borrower);
  } else {
    ties.borrowed.delete(lane);
    if (ties.waitingBelow > 0) noteWaitingOwner(lane, borrower);
  }
  return true;
}
