import { ConfigurationError } from "../base/errors.ts";
import { showValue } from "../base/show-value.ts";
import type { Lane } from "./lane.ts";
import type { LaneEngine } from "./lane-engine.ts";
import type { LaneRequest } from "./lane-request.ts";
import { LaneSet } from "./lane-set.ts";
import { callerOf } from "./nesting.ts";
import { CallState, type Permit } from "./permit.ts";

/**
 * Every lane that a call stands in (`Semantics 4.2`, `4.3`, `4.6`).
 *
 * A nested call stands in each caller's turn too, and in each caller's narrowed lane for its tool or resource.
 *
 * @throws ConfigurationError for a nested call that names another tenant than its caller's.
 */
export function findLanes(engine: LaneEngine, request: LaneRequest, caller: Permit | null): LaneSet {
  if (caller !== null || request.arguments !== undefined || request.exclusive !== undefined) {
    return makeSet(engine, request, caller);
  }
  const { turn } = request;
  const tenantLane = turn === undefined ? engine.lanes.tenant(request.tenant) : null;
  const last = turn === undefined ? (tenantLane as Lane).lastSet : turn.lastSet;
  if (last !== null && isFor(last, request) && last.isCurrent(engine.version)) return last;
  const set = makeSet(engine, request, null);
  if (turn === undefined) (tenantLane as Lane).lastSet = set;
  else turn.lastSet = set;
  return set;
}

function isFor(set: LaneSet, request: LaneRequest): boolean {
  return set.toolName === request.tool && set.tenantName === request.tenant && set.resourceName === request.resource;
}

function makeSet(engine: LaneEngine, request: LaneRequest, caller: Permit | null): LaneSet {
  const { lanes, config } = engine;
  const { turn, tool, resource } = request;
  const tenantName = tenantOf(request, caller);
  turn?.follow();
  if (turn !== undefined && tenantName !== undefined) turn.learnTenant(tenantName);
  const tenantLane = lanes.tenant(tenantName);
  const toolLane = lanes.tool(tool);
  const resourceLane = resource === undefined ? null : lanes.resource(resource);
  const argumentsLane = request.arguments === undefined ? null : lanes.argumentsOf(tool ?? "", request.arguments);
  const turnLane = turn === undefined ? null : turn.lane;
  const narrowed: Lane[] = [];
  const callerTurns: Lane[] = [];
  let maxWaitSeconds = Math.min(config.maxWaitSeconds ?? NONE, turn?.narrowing.maxWaitSeconds ?? NONE);
  let maxWaiting = Math.min(config.maxWaiting ?? NONE, turn?.narrowing.maxWaiting ?? NONE);
  addNew(narrowed, turn?.narrowedTool(tool));
  addNew(narrowed, turn?.narrowedResource(resource));
  for (let above = caller; above !== null; above = callerOf(above)) {
    maxWaitSeconds = Math.min(maxWaitSeconds, above.set.maxWaitSeconds);
    maxWaiting = Math.min(maxWaiting, above.set.maxWaiting);
    const { turn: other } = above.set;
    if (other === undefined || above.state !== CallState.held) continue;
    if (other !== turn) addNew(callerTurns, other.lane);
    addNew(narrowed, other.narrowedTool(tool));
    addNew(narrowed, other.narrowedResource(resource));
  }
  return new LaneSet({
    engine,
    version: engine.version,
    tenantName,
    turn,
    toolName: tool,
    resourceName: resource,
    tenantLane,
    turnLane,
    toolLane,
    resourceLane,
    // The outermost caller's turn first.
    callerTurns: callerTurns.reverse(),
    narrowed,
    argumentsLane,
    exclusiveLane: request.exclusive === undefined ? null : lanes.exclusive(request.exclusive),
    storeLane:
      engine.storeClaims === null
        ? null
        : lanes.store([tenantLane, toolLane, resourceLane, argumentsLane].filter((lane) => lane !== null)),
    maxWaitSeconds,
    maxWaiting,
  });
}

const NONE = Number.POSITIVE_INFINITY;

function addNew(lanes: Lane[], lane: Lane | null | undefined): void {
  if (lane !== null && lane !== undefined && !lanes.includes(lane)) lanes.push(lane);
}

function tenantOf(request: LaneRequest, caller: Permit | null): string | undefined {
  const inherited = caller?.set.tenantName;
  if (request.tenant === undefined || inherited === undefined) return request.tenant ?? inherited;
  if (request.tenant !== inherited) {
    throw new ConfigurationError(
      `tenant: expected the caller's tenant ${showValue(inherited)}, or none, got ${showValue(request.tenant)}`,
    );
  }
  return inherited;
}
