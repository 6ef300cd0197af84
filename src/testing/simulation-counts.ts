import type { RunEvent } from "../protocol/event.ts";

/** What really happened in a simulation: what passes because it did nothing has proved nothing. */
export interface SimulationCounts {
  /** Worlds that were made up and run to their end. */
  worlds: number;
  /** Runs, nested ones included. */
  runs: number;
  /** Calls that a model asked for. */
  calls: number;
  /** Bodies that started. */
  bodies: number;
  /** Bodies that stood three runs deep or deeper, on a place that a caller lent. */
  lentAtDepth3: number;
  /** Calls that failed with `LaneDeadlockError`. */
  deadlocks: number;
  /** Times that a lane was found with a place closed to a waiting call: kept for another one. */
  keptLanes: number;
  /** Calls whose run was cancelled when they had their places and their body had not started. */
  grantsMetByCancel: number;
  /** Bodies that were abandoned. */
  abandoned: number;
  /** Bodies that outlived their verdict and kept their lanes waiting. */
  overdue: number;
  /** Late outcomes of bodies. */
  late: number;
  /** Calls that are not parallel-safe and stood beside one of another run below the same outermost one. */
  exclusiveSideBySide: number;
  /** Calls that went out while their model still streamed. */
  early: number;
  /** Outermost runs that were suspended, each time. */
  suspended: number;
  /** Attempts that were followed by another. */
  retries: number;
  /** Calls that were past their ceiling. */
  ceilings: number;
  /** Calls refused by `maxWaiting`. */
  laneFull: number;
  /** Calls that waited for longer than `maxWaitSeconds`. */
  waitExceeded: number;
  /** Calls that a gate refused. */
  refused: number;
  /** Calls stopped in flight that may have landed. */
  indeterminate: number;
  /** Calls that were never dispatched. */
  neverDispatched: number;
  /** Runs that ended with a deadline. */
  deadlines: number;
  /** Runs that were cancelled. */
  cancelled: number;
  /** Responses that were cut off, broke off or began again, and models that threw. */
  modelFaults: number;
  /** Changes of bounds. */
  reconfigured: number;
  /** Runs that a body did not wait for, or started as their own. */
  leftRuns: number;
}

/** Nothing has happened yet. */
export function noCounts(): SimulationCounts {
  return {
    worlds: 0,
    runs: 0,
    calls: 0,
    bodies: 0,
    lentAtDepth3: 0,
    deadlocks: 0,
    keptLanes: 0,
    grantsMetByCancel: 0,
    abandoned: 0,
    overdue: 0,
    late: 0,
    exclusiveSideBySide: 0,
    early: 0,
    suspended: 0,
    retries: 0,
    ceilings: 0,
    laneFull: 0,
    waitExceeded: 0,
    refused: 0,
    indeterminate: 0,
    neverDispatched: 0,
    deadlines: 0,
    cancelled: 0,
    modelFaults: 0,
    reconfigured: 0,
    leftRuns: 0,
  };
}

/** Adds `more` to `sum`. */
export function addCounts(sum: SimulationCounts, more: Readonly<SimulationCounts>): void {
  for (const key of Object.keys(sum) as (keyof SimulationCounts)[]) sum[key] += more[key];
}

/** Counts what an event tells by itself. */
export function countEvent(counts: SimulationCounts, event: RunEvent): void {
  const counted = COUNTED_BY_KIND[event.kind];
  if (counted !== undefined) counts[counted]++;
  switch (event.kind) {
    case "tool_error": {
      if (event.status === "never_dispatched") counts.neverDispatched++;
      const failed = COUNTED_BY_CODE[event.error.code];
      if (failed !== undefined) counts[failed]++;
      break;
    }
    case "run_suspended":
      if (event.path === "0") counts.suspended++;
      break;
    case "run_failed":
      if (event.error.code === "DEADLINE_EXCEEDED") counts.deadlines++;
  }
}

const COUNTED_BY_KIND: { readonly [Kind in RunEvent["kind"]]?: keyof SimulationCounts } = {
  run_started: "runs",
  run_cancelled: "cancelled",
  gate_refused: "refused",
  tool_requested: "calls",
  tool_retried: "retries",
  tool_abandoned: "abandoned",
  tool_overdue: "overdue",
  tool_late_result: "late",
  tool_indeterminate: "indeterminate",
};

const COUNTED_BY_CODE: Readonly<Record<string, keyof SimulationCounts>> = {
  LANE_DEADLOCK: "deadlocks",
  LANE_FULL: "laneFull",
  LANE_WAIT_EXCEEDED: "waitExceeded",
  TOOL_TIMED_OUT: "ceilings",
};
