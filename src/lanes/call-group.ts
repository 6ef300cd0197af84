import type { CallQueue, QueueKey } from "./call-queue.ts";
import { Heap, type Ranked } from "./heap.ts";
import type { Lane } from "./lane.ts";
import type { Permit } from "./permit.ts";
import type { RoundEntry } from "./round-entry.ts";

/**
 * The waiting calls of one tenant, tool and resource; of nested calls, those of one caller.
 *
 * Its queues differ only in lanes that few share. A group is parked as one on a full tenant, tool or resource lane: a
 * hundred thousand runs have as many turns, and must not be moved one by one when their tenant and their tool are
 * freed in turn.
 */
export class CallGroup implements Ranked {
  readonly tenant: Lane;
  readonly tool: Lane;
  readonly resource: Lane | null;
  /** Under whom its calls are nested; null for calls of their own. */
  readonly caller: Permit | null;
  readonly toolEntry: RoundEntry;
  readonly resourceEntry: RoundEntry | null;
  /** Its queues that no turn, narrowed, arguments or exclusive lane holds back, by age of their heads. */
  readonly ready: Heap<CallQueue> = new Heap();
  /** All of its queues. */
  readonly queues: Map<QueueKey, CallQueue> = new Map();
  /** How many calls wait in it. */
  size = 0;
  parkedAt: Lane | null = null;
  /** The age of its oldest ready queue. */
  rank = 0;
  heapIndex = -1;
  /** Its queues that a lane of bound 1 put forward. */
  candidates: Set<CallQueue> | null = null;

  constructor(
    tenant: Lane,
    tool: Lane,
    resource: Lane | null,
    caller: Permit | null,
    toolEntry: RoundEntry,
    resourceEntry: RoundEntry | null,
  ) {
    this.tenant = tenant;
    this.tool = tool;
    this.resource = resource;
    this.caller = caller;
    this.toolEntry = toolEntry;
    this.resourceEntry = resourceEntry;
  }
}
