import { firstShut } from "./admission.ts";
import type { StartRate } from "./bound.ts";
import { type CallFacts, factsOf } from "./call-facts.ts";
import type { Lane } from "./lane.ts";
import type { LaneEngine } from "./lane-engine.ts";
import type { Permit } from "./permit.ts";

/** Who has a place in a lane. */
export interface LaneHolder extends CallFacts {
  /** Seconds since the grant. */
  heldSeconds: number;
  /** The nested call that uses the place meanwhile: its call id, else its tool. */
  lentTo?: string;
  /** The caller whose place it uses: its call id, else its tool. */
  borrowedFrom?: string;
}

/** One lane at one moment (`Semantics 4.9`). */
export interface LaneSnapshot {
  /**
   * `tenant:acme`, `turn:<name>`, `turn-tool:<name>/search`, `turn-resource:<name>/maps`, `tool:search`, `resource:maps`,
   * `exclusive:<key>`, or `arguments:<tool>#<digest>`: never the arguments themselves.
   */
  lane: string;
  /** Calls in flight at once; `Infinity` when only starts are bounded. */
  bound: number;
  /** What bounds its starts per time, when something does. */
  starts?: StartRate | readonly StartRate[];
  /** Places taken: one that is lent counts once. More than the bound only after the bound was lowered. */
  inFlight: number;
  /** Calls that stand in this lane and wait, for whichever lane. */
  waiting: number;
  /** How long the one that has waited longest has; 0 when none waits. */
  longestWaitSeconds: number;
  /** Bodies that still run although their place went back (`Semantics 4.8`). */
  abandoned: number;
  /** Who stands in it, longest first; a lent place shows its lender and its borrower. */
  holders: LaneHolder[];
  /** Of the calls waiting here, how many wait for which lane. Without a prototype: any name is just a name. */
  blockedOn: Record<string, number>;
}

/** Tells every lane that is declared, used or waited for, at this moment. Lanes that bound nothing are none. */
export function takeSnapshot(engine: LaneEngine): LaneSnapshot[] {
  const now = engine.clock.monotonic();
  const told = new Map<Lane, LaneSnapshot>();
  const { perTool, perResource } = engine.config;
  for (const name of Object.keys(perTool)) told.set(engine.lanes.tool(name), emptySnapshot(engine.lanes.tool(name)));
  for (const name of Object.keys(perResource))
    told.set(engine.lanes.resource(name), emptySnapshot(engine.lanes.resource(name)));
  for (const lane of engine.lanes.all()) tell(told, lane);

  for (const permit of [...engine.held()].reverse()) {
    const facts = factsOf(permit);
    const heldSeconds = (now - permit.heldSince) / 1000;
    for (const lane of permit.set.all) tell(told, lane)?.holders.push(holderIn(lane, permit, facts, heldSeconds));
  }
  for (const permit of engine.abandoned) for (const lane of permit.set.all) tell(told, lane);
  for (const { head, set } of engine.queues()) {
    if (head === null) continue;
    let calls = 0;
    for (let call: Permit | null = head; call !== null; call = call.next) calls += 1;
    const shut = firstShut(head)?.label;
    const waitedSeconds = (now - head.waitingSince) / 1000;
    for (const lane of set.all) {
      const snapshot = tell(told, lane);
      if (snapshot === undefined) continue;
      snapshot.longestWaitSeconds = Math.max(snapshot.longestWaitSeconds, waitedSeconds);
      if (shut !== undefined) snapshot.blockedOn[shut] = (snapshot.blockedOn[shut] ?? 0) + calls;
    }
  }
  return [...told.values()];
}

function tell(told: Map<Lane, LaneSnapshot>, lane: Lane): LaneSnapshot | undefined {
  const known = told.get(lane);
  if (known !== undefined || !lane.isBounded) return known;
  const snapshot = emptySnapshot(lane);
  told.set(lane, snapshot);
  return snapshot;
}

function emptySnapshot(lane: Lane): LaneSnapshot {
  const snapshot: LaneSnapshot = {
    lane: lane.label,
    bound: lane.bound,
    inFlight: lane.used,
    waiting: lane.waiting,
    longestWaitSeconds: 0,
    abandoned: lane.abandoned,
    holders: [],
    blockedOn: Object.create(null) as Record<string, number>,
  };
  const rates = lane.starts?.rates;
  if (rates !== undefined) snapshot.starts = rates.length === 1 ? (rates[0] as StartRate) : rates;
  return snapshot;
}

function holderIn(lane: Lane, permit: Permit, facts: CallFacts, heldSeconds: number): LaneHolder {
  const holder: LaneHolder = { ...facts, heldSeconds };
  const borrower = permit.nesting?.lent.get(lane);
  const lender = permit.nesting?.borrowed.get(lane);
  if (borrower !== undefined) holder.lentTo = shortName(borrower);
  if (lender !== undefined) holder.borrowedFrom = shortName(lender);
  return holder;
}

function shortName(permit: Permit): string {
  const { callId, tool } = factsOf(permit);
  return callId ?? tool ?? "a call";
}
