import type { CallGroup } from "./call-group.ts";
import { Heap, type Ranked } from "./heap.ts";
import type { Lane } from "./lane.ts";

/**
 * One tenant in the round of a tool's or a resource's lane.
 *
 * Lives while the tenant has a waiting call that stands in the lane; a tenant that comes back joins at the tail, or
 * leaving and joining again would be a way to jump the queue.
 */
export class RoundEntry implements Ranked {
  /** The tool's or the resource's. */
  readonly lane: Lane;
  readonly tenant: Lane;
  /** When the tenant was last served here: the smallest is next. */
  rank: number;
  heapIndex = -1;
  /** What of this tenant is parked on the lane, by age. */
  readonly parked: Heap<CallGroup> = new Heap();
  /** A tool's entry: the tenant's waiting groups that are not nested, by resource, wherever they are parked. */
  readonly groups: Map<Lane | null, CallGroup> = new Map();
  /** A resource's entry: the tenant's entries at the tools by which it waits here. They have the same rank. */
  readonly toolEntries: Set<RoundEntry> = new Set();
  /** How many groups, nested ones included, refer to this entry. */
  members = 0;

  constructor(lane: Lane, tenant: Lane, rank: number) {
    this.lane = lane;
    this.tenant = tenant;
    this.rank = rank;
  }
}
