import type { CallQueue } from "./call-queue.ts";
import type { Lane } from "./lane.ts";
import type { LaneEngine } from "./lane-engine.ts";
import type { Turn } from "./turn.ts";

/** What a lane set is made of. */
export type LaneSetParts = Omit<LaneSet, "inner" | "queue" | "all" | "has" | "isCurrent">;

/**
 * Every lane that a call stands in, taken and given back as one (`Semantics 4.3`, `4.4`).
 *
 * Shared by calls that stand in the same lanes: a turn, or a tenant without one, keeps the last.
 */
export class LaneSet {
  readonly engine: LaneEngine;
  /** The config it was made under. */
  readonly version: number;
  readonly tenantName: string | undefined;
  readonly turn: Turn | undefined;
  readonly toolName: string | undefined;
  readonly resourceName: string | undefined;
  readonly tenantLane: Lane;
  /** The call's own turn. */
  readonly turnLane: Lane | null;
  readonly toolLane: Lane;
  readonly resourceLane: Lane | null;
  /** Callers' turns, narrowed lanes, identical arguments, exclusive, store: what few calls share. */
  readonly inner: readonly Lane[] | null;
  readonly callerTurns: readonly Lane[];
  /** Narrowed tools and resources, of its own turn and its callers'. */
  readonly narrowed: readonly Lane[];
  readonly argumentsLane: Lane | null;
  readonly exclusiveLane: Lane | null;
  readonly storeLane: Lane | null;
  /** How long a call may wait; `Infinity` without a limit. */
  readonly maxWaitSeconds: number;
  /** How many may wait in one lane; `Infinity` without a limit. */
  readonly maxWaiting: number;
  /** Where calls of this set wait, while any does. */
  queue: CallQueue | null = null;
  #all: readonly Lane[] | null = null;

  constructor(parts: LaneSetParts) {
    this.engine = parts.engine;
    this.version = parts.version;
    this.tenantName = parts.tenantName;
    this.turn = parts.turn;
    this.toolName = parts.toolName;
    this.resourceName = parts.resourceName;
    this.tenantLane = parts.tenantLane;
    this.turnLane = parts.turnLane;
    this.toolLane = parts.toolLane;
    this.resourceLane = parts.resourceLane;
    this.callerTurns = parts.callerTurns;
    this.narrowed = parts.narrowed;
    this.argumentsLane = parts.argumentsLane;
    this.exclusiveLane = parts.exclusiveLane;
    this.storeLane = parts.storeLane;
    this.maxWaitSeconds = parts.maxWaitSeconds;
    this.maxWaiting = parts.maxWaiting;
    const inner = [...parts.narrowed, ...parts.callerTurns];
    for (const lane of [parts.argumentsLane, parts.exclusiveLane, parts.storeLane]) if (lane !== null) inner.push(lane);
    this.inner = inner.length === 0 ? null : inner;
  }

  /** Every lane in the fixed order of `Semantics 4.3`, unbounded ones included. */
  get all(): readonly Lane[] {
    if (this.#all === null) {
      const lanes: (Lane | null)[] = [
        this.tenantLane,
        ...this.callerTurns,
        this.turnLane,
        ...this.narrowed,
        this.toolLane,
      ];
      lanes.push(this.resourceLane, this.argumentsLane, this.exclusiveLane, this.storeLane);
      this.#all = lanes.filter((lane) => lane !== null);
    }
    return this.#all;
  }

  has(lane: Lane): boolean {
    return (
      this.tenantLane === lane ||
      this.turnLane === lane ||
      this.toolLane === lane ||
      this.resourceLane === lane ||
      this.inner?.includes(lane) === true
    );
  }

  /** Whether a call made now may use it: the config is the same and no lane of it has vanished meanwhile. */
  isCurrent(version: number): boolean {
    return (
      this.version === version &&
      !this.tenantLane.dead &&
      !this.toolLane.dead &&
      (this.resourceLane === null || !this.resourceLane.dead) &&
      (this.storeLane === null || !this.storeLane.dead)
    );
  }
}
