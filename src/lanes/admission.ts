/**
 * Who may take places now (`Semantics 4.3`, `4.4`).
 *
 * Owns the question and the taking; what becomes of a call that may not is `parking.ts`, and who is asked first is
 * `hand-on.ts`.
 *
 * A1 A call takes a place in every lane it stands in, in one step, or none.
 * A2 A place of a lane is taken once: a nested call that borrows its caller's does not count again.
 * A3 A kept place is closed to everybody but its keeper and nested calls.
 * A4 A rate is no place: nobody passes it, whether nested, kept for, or borrowing.
 */
import type { Lane } from "./lane.ts";
import { callerOf, nearestHolding, nestingOf } from "./nesting.ts";
import { CallState, type Permit } from "./permit.ts";
import type { StoreAnswers } from "./store-answers.ts";

/** Of whom a nested call would borrow in `lane`: the nearest caller that stands there and has not lent its place. */
export function lenderOf(call: Permit, lane: Lane): Permit | null {
  for (let caller = callerOf(call); caller !== null; caller = callerOf(caller)) {
    if (caller.state === CallState.held && caller.set.has(lane) && caller.nesting?.lent.has(lane) !== true)
      return caller;
  }
  return null;
}

export function isShut(lane: Lane, call: Permit): boolean {
  if (lane.starts?.isShut()) return true;
  if (lane.answers !== null) return isRefused(lane.answers, call);
  const isNested = call.nesting !== null && call.nesting.caller !== null;
  if (lane.used + (lane.keeper !== null && lane.keeper !== call ? 1 : 0) < lane.bound) return false;
  if (!isNested) return true;
  return lane.used >= lane.bound && lenderOf(call, lane) === null;
}

/** The first shut lane that few calls share, or null. */
export function shutInner(call: Permit): Lane | null {
  const { turnLane, inner } = call.set;
  if (turnLane !== null && isShut(turnLane, call)) return turnLane;
  if (inner !== null) for (const lane of inner) if (isShut(lane, call)) return lane;
  return null;
}

/** The first shut lane of those that many calls share, or null. */
export function shutOuter(call: Permit): Lane | null {
  const { toolLane, resourceLane, tenantLane } = call.set;
  if (isShut(toolLane, call)) return toolLane;
  if (resourceLane !== null && isShut(resourceLane, call)) return resourceLane;
  if (tenantLane.readBound !== null) tenantLane.readBound();
  return isShut(tenantLane, call) ? tenantLane : null;
}

/** The first shut lane in the fixed order of `Semantics 4.3`: what the call is said to wait for. */
export function firstShut(call: Permit): Lane | null {
  const { set } = call;
  // Spelled out: nearly every waiting call comes by here, and a list of its lanes would be kept for each.
  if (isShut(set.tenantLane, call)) return set.tenantLane;
  for (const lane of set.callerTurns) if (isShut(lane, call)) return lane;
  if (set.turnLane !== null && isShut(set.turnLane, call)) return set.turnLane;
  for (const lane of set.narrowed) if (isShut(lane, call)) return lane;
  if (isShut(set.toolLane, call)) return set.toolLane;
  if (set.resourceLane !== null && isShut(set.resourceLane, call)) return set.resourceLane;
  if (set.argumentsLane !== null && isShut(set.argumentsLane, call)) return set.argumentsLane;
  if (set.exclusiveLane !== null && isShut(set.exclusiveLane, call)) return set.exclusiveLane;
  return set.storeLane !== null && isShut(set.storeLane, call) ? set.storeLane : null;
}

/** Takes every place of a call that no lane shuts out. */
export function takePlaces(call: Permit): void {
  const { set, nesting } = call;
  if (nesting === null || nesting.caller === null) {
    takePlace(set.tenantLane);
    takePlace(set.toolLane);
    if (set.turnLane !== null) takePlace(set.turnLane);
    if (set.resourceLane !== null) takePlace(set.resourceLane);
    if (set.inner !== null) for (const lane of set.inner) takePlace(lane);
    return;
  }
  const caller = nearestHolding(nesting.caller);
  if (caller !== null) nestingOf(caller).children.add(call);
  for (const lane of set.all) {
    const lender = lenderOf(call, lane);
    if (lender === null) takePlace(lane);
    else {
      nestingOf(lender).lent.set(lane, call);
      nesting.borrowed.set(lane, lender);
      lane.starts?.record();
    }
  }
}

function takePlace(lane: Lane): void {
  lane.used += 1;
  if (lane.starts !== null) lane.starts.record();
}

/** Whether a store must be asked for the call's place in a lane: not for one that nothing bounds, or a caller lends. */
export function wantsFromStore(call: Permit, lane: Lane): boolean {
  return lane.isBounded && lenderOf(call, lane) === null;
}

function isRefused({ places, refused, asking }: StoreAnswers, call: Permit): boolean {
  if (asking && places.some((lane) => wantsFromStore(call, lane))) return true;
  // Who wants less than what was refused may ask.
  return refused?.every((lane) => wantsFromStore(call, lane)) === true;
}
