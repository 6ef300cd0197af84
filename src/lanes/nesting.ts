import type { CallGroup } from "./call-group.ts";
import type { Lane } from "./lane.ts";
import { CallState, type Permit } from "./permit.ts";

/** How a permit is tied to its callers and to the calls nested in it (`Semantics 4.6`). */
export class Nesting {
  /** The nearest caller; null for a call of its own. */
  caller: Permit | null = null;
  /** Direct nested calls that hold their places. */
  readonly children: Set<Permit> = new Set();
  /** How many nested calls wait below it, at any depth. */
  waitingBelow = 0;
  /** Groups of its own waiting nested calls. */
  readonly groups: CallGroup[] = [];
  /** Groups of nested calls that wait below it, at any depth. */
  readonly groupsBelow: Set<CallGroup> = new Set();
  /** Places of its own that a nested call uses, and which. */
  readonly lent: Map<Lane, Permit> = new Map();
  /** Places of a caller that it uses, and whose. */
  readonly borrowed: Map<Lane, Permit> = new Map();
  /** Its body has ended while nested calls had not: its places go back with the last of them. */
  bodyEnded = false;

  /** Whether nothing nested in it holds or awaits a place. */
  get isAlone(): boolean {
    return this.children.size === 0 && this.waitingBelow === 0;
  }
}

/** The permit's ties, made at first use. */
export function nestingOf(permit: Permit): Nesting {
  permit.nesting ??= new Nesting();
  return permit.nesting;
}

/** Who called; null for a call of its own. A caller may have gone meanwhile. */
export function callerOf(permit: Permit): Permit | null {
  return permit.nesting === null ? null : permit.nesting.caller;
}

/** The nearest caller that still holds its places, from `permit` itself outwards. */
export function nearestHolding(permit: Permit | null): Permit | null {
  let caller = permit;
  while (caller !== null && caller.state !== CallState.held) caller = callerOf(caller);
  return caller;
}

export function isCallerOf(caller: Permit, call: Permit): boolean {
  for (let other = callerOf(call); other !== null; other = callerOf(other)) if (other === caller) return true;
  return false;
}

/** A permit and those in whose bodies it was entered, outwards, across all lanes. */
export function* callersOf(permit: Permit | undefined): Generator<Permit> {
  for (let other = permit ?? null; other !== null; other = other.rare?.enteredFrom ?? callerOf(other)) yield other;
}
