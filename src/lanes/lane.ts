import type { CallGroup } from "./call-group.ts";
import type { CallQueue } from "./call-queue.ts";
import type { Heap } from "./heap.ts";
import type { LaneSet } from "./lane-set.ts";
import type { Permit } from "./permit.ts";
import type { RoundEntry } from "./round-entry.ts";
import type { StartWindow } from "./start-window.ts";
import type { StoreAnswers } from "./store-answers.ts";
import type { Turn } from "./turn.ts";
import type { WaitKind } from "./wait-mark.ts";

/**
 * What a lane bounds. A store lane bounds nothing by itself: it stands for the lanes that a store shares, and is shut
 * while the store refuses them. Narrowed lanes are an agent's own, within one of its turns
 * (`Semantics 4.2`).
 */
export type LaneKind =
  | "tenant"
  | "turn"
  | "turn-tool"
  | "turn-resource"
  | "tool"
  | "resource"
  | "arguments"
  | "exclusive"
  | "store";

/** What a wait for a lane of each kind is reported as. */
export const WAIT_KIND: Readonly<Record<LaneKind, WaitKind>> = {
  tenant: "tenant",
  turn: "turn",
  "turn-tool": "tool",
  "turn-resource": "resource",
  tool: "tool",
  resource: "resource",
  arguments: "arguments",
  exclusive: "exclusive",
  store: "tool",
};

let lanesMade = 0;

/**
 * One lane: its bound, what is taken of it, and what is parked on it.
 *
 * Owns the counts; who may take a place is decided by `admission.ts`, who waits where by `parking.ts`. A tool's or a
 * resource's lane keeps its waiting calls by tenant, in a round; every other lane keeps them by age.
 */
export class Lane {
  readonly kind: LaneKind;
  /** Distinguishes lanes of one kind. */
  readonly name: string;
  /** Distinguishes all lanes ever made. */
  readonly id: number;
  /** Places; `Infinity` when only starts bound the lane, or nothing does. */
  bound: number;
  /** Places taken. A place lent to a nested call is taken once. */
  used = 0;
  /** Calls that wait and stand in this lane, whatever they are parked on. */
  waiting = 0;
  /** Bodies still running whose place went back without them (`Semantics 4.8`). */
  abandoned = 0;
  /** Bounds starts per time; null for nearly every lane. */
  starts: StartWindow | null = null;
  /** Asks a function of the tenant for the bound again. */
  readBound: (() => void) | null = null;
  /** Store lanes: what the store said about the lanes that this one stands for. */
  answers: StoreAnswers | null = null;
  /** Taken out of the registry: a set that still refers to it must not be used again. */
  dead = false;

  /** For whom one place is closed to everybody else but nested calls (`Semantics 4.5`). */
  keeper: Permit | null = null;
  /** Calls that were passed over too often and stand here, the first to starve first. */
  starved: Permit[] | null = null;

  /** Tool and resource lanes: tenants with something parked here, by their turn in the round. */
  round: Heap<RoundEntry> | null = null;
  /** Tool and resource lanes: every tenant with a waiting call that stands here. */
  entries: Map<Lane, RoundEntry> | null = null;
  /** All other lanes: what is parked here, by age. */
  parked: Heap<CallQueue | CallGroup> | null = null;
  /** What is parked here and nested: it may take a kept place, or borrow one. */
  nestedParked: Set<CallQueue | CallGroup> | null = null;
  /** Owners of places here below whom a nested call waits (`Semantics 4.7`). */
  waitingOwners: Set<Permit> | null = null;
  /** Turn lanes: whose it is. */
  turn: Turn | null = null;
  /** Tenant lanes: the last set made for a call without a turn. */
  lastSet: LaneSet | null = null;

  constructor(kind: LaneKind, name: string, bound: number) {
    this.kind = kind;
    this.name = name;
    this.bound = bound;
    lanesMade += 1;
    this.id = lanesMade;
  }

  /** Whether a call without any privilege finds a place: one that is nested or kept for may, also when this is false. */
  get isOpen(): boolean {
    return this.used + (this.keeper === null ? 0 : 1) < this.bound && (this.starts === null || !this.starts.isShut());
  }

  /** Whether anything waits here for a place to come free. */
  get hasParked(): boolean {
    return (this.round !== null && this.round.size > 0) || (this.parked !== null && this.parked.size > 0);
  }

  /** Whether nobody would notice if the lane were gone. */
  get isIdle(): boolean {
    return this.used === 0 && this.waiting === 0 && this.abandoned === 0;
  }

  /** Whether something is declared that can hold a call back: what a user calls a lane. */
  get isBounded(): boolean {
    return this.bound !== Number.POSITIVE_INFINITY || this.starts !== null;
  }

  /** The lane as errors and snapshots name it: `tool:search`, `turn-tool:planner/search`. Never shows arguments. */
  get label(): string {
    if (this.answers !== null) return `store:${this.answers.places.map((lane) => lane.label).join("+")}`;
    if (this.kind !== "arguments") return `${this.kind}:${this.name}`;
    const split = this.name.indexOf(":");
    const tool = this.name.slice(split + 1, split + 1 + Number(this.name.slice(0, split)));
    return `arguments:${tool}#${digest(this.name)}`;
  }
}

/** The lane as a store knows it: the same text in every process. */
export function storeName({ kind, name }: Lane): string {
  return `${kind}:${name}`;
}

/** Eight hex digits that tell two texts apart well enough for a report, and give nothing of them away. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
