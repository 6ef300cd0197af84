import type { CallGroup } from "./call-group.ts";
import type { Ranked } from "./heap.ts";
import type { Lane } from "./lane.ts";
import type { LaneSet } from "./lane-set.ts";
import type { Permit } from "./permit.ts";
import type { WaitMark } from "./wait-mark.ts";

/**
 * Waiting calls with exactly the same lanes, first come, first served.
 *
 * All of them can run or none can, so only the head is ever looked at.
 */
export class CallQueue implements Ranked {
  readonly group: CallGroup;
  readonly set: LaneSet;
  /** Under what the group finds it. */
  readonly key: QueueKey;
  head: Permit | null = null;
  tail: Permit | null = null;
  /** The head's age. */
  rank = 0;
  /** Its place in the heap of the lane it is parked on, or else of its group. */
  heapIndex = -1;
  /** A full turn, narrowed, arguments or exclusive lane; null while it stands with its group. */
  parkedAt: Lane | null = null;
  /** The lane of bound 1 that put this queue forward, and nobody else of those it holds back. */
  candidateOf: Lane | null = null;
  /** What its calls wait for now. */
  mark: WaitMark | null = null;

  constructor(group: CallGroup, set: LaneSet, key: QueueKey) {
    this.group = group;
    this.set = set;
    this.key = key;
  }
}

/** The turn's lane, or a text when other lanes that few share tell queues of one turn apart. */
export type QueueKey = Lane | null | string;
