/**
 * Keeping lanes for a call that was passed over too often (`Semantics 4.5`).
 *
 * A reservation is a veto, not a permit: it holds nothing, so it can close no ring of waiting.
 *
 * V1 Starved calls stand in the list of each of their lanes in one global order, that of starving.
 * V2 Whoever is first in all of its lanes is their keeper; a lane has at most one. (Two would let ten thousand starved
 *    tenants idle a place of each of ten thousand lanes.)
 * V3 In each lane, at most one place idles for its keeper.
 */
import type { Lane } from "./lane.ts";
import { type Permit, rareOf } from "./permit.ts";

/** How often a call is passed over before its lanes are kept for it. */
export const PASSED_OVER_BEFORE_KEEPING = 8;

/** A place whose turn it was went to somebody else because another lane of the call was full. */
export function countPassedOver(call: Permit, limit: number): void {
  const rare = rareOf(call);
  rare.passedOver += 1;
  if (rare.passedOver < limit || rare.starving) return;
  rare.starving = true;
  for (const lane of call.set.all) {
    lane.starved ??= [];
    lane.starved.push(call);
  }
  keepIfFirst(call);
}

/** The call has its places or gives up: its lanes are kept for whoever starved next. */
export function leaveStarved(call: Permit): void {
  const { rare } = call;
  if (rare === null) return;
  rare.passedOver = 0;
  if (!rare.starving) return;
  rare.starving = false;
  const next = new Set<Permit>();
  for (const lane of call.set.all) {
    const starved = lane.starved as Permit[];
    starved.splice(starved.indexOf(call), 1);
    if (lane.keeper === call) lane.keeper = null;
    const first = starved[0];
    if (first === undefined) lane.starved = null;
    else next.add(first);
  }
  for (const other of [...next].sort((a, b) => a.age - b.age)) keepIfFirst(other);
}

function keepIfFirst(call: Permit): void {
  const lanes: readonly Lane[] = call.set.all;
  if (lanes.every((lane) => lane.starved !== null && lane.starved[0] === call))
    for (const lane of lanes) lane.keeper = call;
}
