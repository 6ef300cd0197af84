/**
 * Watches a simulated world from outside and says which rule is broken first.
 *
 * Knows nothing of how the runtime works: it counts in the bodies, hears the events, and asks `runner.lanes()`.
 *
 * V1 In no lane work more bodies than its bound: a body with one below it waits, an abandoned one is told of and no longer
 *    counts. After a bound was lowered the old one holds until the lane is down to the new one.
 * V2 No call waits beside its places. Asked of `runner.lanes()` at each step: whoever waits is held up by some lane, and
 *    that lane is full but for one place, which may be kept (`Semantics 4.5`), or counts starts. And asked without
 *    believing it, whenever everything waits: a parallel-safe call whose phase has come stands before a lane that is
 *    as full. From outside nobody sees for whom a place is kept, so one idle place a lane is never held against it.
 * V3 Calls that are not parallel-safe overlap only with their own callers; so do those with identical arguments, across
 *    all runs. None overlaps with anything else of its batch.
 * V4 Each call has one verdict, which says what its bodies know; nothing is told of a run after its end.
 */
import { canonicalJson } from "../base/canonical-json.ts";
import { type BoundLimits, limitsOf } from "../lanes/bound.ts";
import {
  type ConcurrencyChanges,
  ConcurrencyConfig,
  changedConfig,
  DEFAULT_MAX_CONCURRENT_TOOLS,
  tenantBound,
} from "../lanes/concurrency-config.ts";
import type { LaneSnapshot } from "../lanes/snapshot.ts";
import type { RunEvent } from "../protocol/event.ts";
import type { ToolContext } from "../tools/tool-context.ts";
import { countEvent, noCounts, type SimulationCounts } from "./simulation-counts.ts";
import type { SimulatedAgent, SimulatedTool, SimulationPlan } from "./simulation-plan.ts";

/** What was found, and when. */
export interface SimulationViolation {
  /** The rule of the semantics, or what else every test holds. */
  readonly rule: string;
  readonly what: string;
  readonly step: number;
}

/** Where a call stands. */
type Place = Pick<ToolContext, "runId" | "path" | "callId">;

/** What was told of a call, and what its bodies know. */
interface WatchedCall {
  readonly place: string;
  readonly runId: string;
  readonly path: string;
  readonly tool: string;
  readonly tenant: string;
  readonly turn: number;
  readonly position: number;
  /** In which stretch between two resumes. */
  readonly stretch: number;
  /** As paths of runs below it begin. */
  readonly callPath: string;
  /** Every lane that it stands in: its name, and its limits as declared now. */
  readonly lanes: ReadonlyMap<string, () => BoundLimits>;
  isQueued: boolean;
  isParallelSafe: boolean | undefined;
  attempts: Set<number>;
  starts: number;
  verdict: string | undefined;
}

/** A body in flight, or the call of an agent as a tool. */
export interface WatchedBody {
  readonly call: WatchedCall;
  /** The calls above it, by `callPath`. */
  readonly above: ReadonlySet<string>;
  readonly isParallelSafe: boolean;
  readonly identity: string | undefined;
  /** Not one of ours: it does nothing but wait. */
  readonly isCaller: boolean;
  readonly attempt: number;
  isAbandoned: boolean;
}

interface WatchedLane {
  /** What may work at once now: the bound, or what it was before it was lowered. */
  allowed: number;
  /** When bodies started, where starts are counted. */
  starts: number[];
}

const VERDICTS = new Set(["tool_result", "tool_error", "tool_indeterminate"]);
const RUN_ENDS = new Set(["run_completed", "run_failed", "run_cancelled", "run_suspended"]);
/** What is told of a body that outlived its verdict. */
const AFTERWARDS = new Set(["tool_late_result", "tool_overdue", "tool_abandoned"]);

const STOPPED = new Set(["TOOL_STOPPED", "TOOL_INDETERMINATE"]);

export class SimulationWatch {
  readonly counts: SimulationCounts = noCounts();
  steps = 0;
  /** The first rule that was broken. */
  violation: SimulationViolation | undefined;
  readonly #tools: Readonly<Record<string, SimulatedTool>>;
  readonly #agents: Readonly<Record<string, SimulatedAgent>>;
  readonly #snapshot: () => readonly LaneSnapshot[];
  readonly #now: () => number;
  readonly #isEager: boolean;
  #config: ConcurrencyConfig;
  /** Bounds were lowered, or may have been. */
  #isChanged = false;
  readonly #calls = new Map<string, WatchedCall>();
  /** The calls of each turn of each run, in call order. */
  readonly #batches = new Map<string, WatchedCall[]>();
  readonly #bodies = new Set<WatchedBody>();
  readonly #lanes = new Map<string, WatchedLane>();
  readonly #agentOfRun = new Map<string, string>();
  /** How each run that was told of has ended. */
  readonly #ends = new Map<string, string | undefined>();
  readonly #stretches = new Map<string, number>();
  readonly #streaming = new Set<string>();
  readonly #openGates = new Map<string, string>();
  readonly #kept = new Set<string>();

  constructor(plan: SimulationPlan, snapshot: () => readonly LaneSnapshot[], now: () => number) {
    this.#tools = plan.tools ?? {};
    this.#agents = plan.agents ?? {};
    this.#isEager = plan.dispatch === "eager";
    this.#config = new ConcurrencyConfig(plan.concurrency);
    this.#snapshot = snapshot;
    this.#now = now;
  }

  /** Something has happened: what must be true at every moment is true. */
  step(): void {
    this.steps++;
    if (this.violation !== undefined) return;
    this.#checkBounds();
    const lanes = this.#snapshot();
    // A rate may have opened this very moment, and its timer comes next: then only a quiet moment tells.
    if (lanes.every(({ starts }) => starts === undefined)) this.#checkSnapshot(lanes);
  }

  /** Everything waits for time: what could have gone on has. */
  quiet(): void {
    if (this.violation !== undefined) return;
    const lanes = this.#snapshot();
    this.#checkSnapshot(lanes);
    this.#checkIdle(lanes);
  }

  fail(rule: string, what: string): void {
    this.violation ??= { rule, what, step: this.steps };
  }

  // ---- bodies ----

  bodyStarts(ctx: ToolContext, args: Readonly<Record<string, unknown>>): WatchedBody | undefined {
    const call = this.#calls.get(placeOf(ctx));
    if (call === undefined) {
      this.fail("2.3", `${placeOf(ctx)}: a body started of a call that nobody was told of`);
      return undefined;
    }
    const isParallelSafe = !isAlone(this.#tools[ctx.tool], args);
    const identity = isParallelSafe ? undefined : `${ctx.tool} ${canonicalJson(args)}`;
    const body = this.#enter(call, { isParallelSafe, identity, isCaller: false, attempt: ctx.attempt });
    call.starts++;
    call.isParallelSafe = isParallelSafe;
    this.counts.bodies++;
    this.#checkStart(body);
    this.#countStart(body);
    this.step();
    if (ctx.depth >= 3 && this.#isOnLentPlace(ctx)) this.counts.lentAtDepth3++;
    return body;
  }

  bodyEnds(body: WatchedBody | undefined): void {
    if (body !== undefined) this.#bodies.delete(body);
    this.step();
  }

  #enter(
    call: WatchedCall,
    facts: Pick<WatchedBody, "isParallelSafe" | "identity" | "isCaller" | "attempt">,
  ): WatchedBody {
    const above = new Set(callersOf(call.path).map((path) => `${call.runId} ${path}`));
    const body: WatchedBody = { ...facts, call, above, isAbandoned: false };
    this.#bodies.add(body);
    return body;
  }

  /** V3, and that attempts of one call do not overlap (`Semantics 7.5`). */
  #checkStart(body: WatchedBody): void {
    const { call } = body;
    for (const other of this.#bodies) {
      if (other === body || other.isCaller || other.isAbandoned) continue;
      const { call: one } = other;
      const both = `${nameOf(call)} and ${nameOf(one)}`;
      if (one === call) this.fail("7.5", `${nameOf(call)}: attempt ${body.attempt} beside attempt ${other.attempt}`);
      if (isBelow(body, other) || isBelow(other, body)) continue;
      const isOneBatch = batchOf(one) === batchOf(call) && one !== call;
      if (isOneBatch && (!body.isParallelSafe || !other.isParallelSafe))
        this.fail("5.1", `${both} of one batch at once, and one is not parallel-safe`);
      if (body.isParallelSafe || other.isParallelSafe) continue;
      if (one.runId === call.runId) this.fail("5.2", `${both}, not parallel-safe, at once below one run`);
      if (body.identity === other.identity) this.fail("5.3", `${both} with identical arguments at once`);
    }
  }

  // ---- V1 ----

  #checkBounds(): void {
    const waiting = new Set<string>();
    for (const { above, isAbandoned, isCaller } of this.#bodies) {
      if (!isAbandoned && !isCaller) for (const caller of above) waiting.add(caller);
    }
    const taken = new Map<string, { working: number; all: number; limits: BoundLimits }>();
    for (const body of this.#bodies) {
      if (body.isAbandoned) continue;
      const isWorking = !body.isCaller && !waiting.has(`${body.call.runId} ${body.call.callPath}`);
      for (const [name, read] of body.call.lanes) {
        const lane = taken.get(name) ?? { working: 0, all: 0, limits: read() };
        taken.set(name, lane);
        lane.all++;
        if (isWorking) lane.working++;
      }
    }
    for (const [name, { working, all, limits }] of taken) {
      const lane = this.#laneOf(name, limits);
      // It is down to what is declared now.
      if (all <= limits.inFlight) lane.allowed = limits.inFlight;
      lane.allowed = Math.max(lane.allowed, limits.inFlight);
      if (working > lane.allowed) this.fail("4.6", `${name}: ${working} bodies work at once, ${lane.allowed} allowed`);
    }
  }

  #laneOf(name: string, { inFlight }: BoundLimits): WatchedLane {
    const lane = this.#lanes.get(name) ?? { allowed: inFlight, starts: [] };
    this.#lanes.set(name, lane);
    return lane;
  }

  #countStart({ call }: WatchedBody): void {
    const now = this.#now();
    for (const [name, read] of call.lanes) {
      const limits = read();
      if (limits.rates.length === 0) continue;
      const { starts } = this.#laneOf(name, limits);
      starts.push(now);
      for (const { count, perSeconds } of limits.rates) {
        // A stretch is open at one end: what starts exactly `perSeconds` later is in the next one.
        const within = starts.filter((at) => now - at < perSeconds * 1000 - 1e-6).length;
        if (within > count) this.fail("4.1", `${name}: ${within} starts within ${perSeconds} s, ${count} allowed`);
      }
    }
  }

  configured(changes: ConcurrencyChanges): void {
    // What the old rates let in is not held against the new ones.
    for (const lane of this.#lanes.values()) lane.starts.length = 0;
    this.#config = changedConfig(this.#config, changes);
    this.#isChanged = true;
    this.counts.reconfigured++;
    this.step();
  }

  // ---- V2 ----

  #checkSnapshot(lanes: readonly LaneSnapshot[]): void {
    const known = new Map(lanes.map((lane) => [lane.lane, lane]));
    const kept = new Set<string>();
    for (const { lane, bound, inFlight, waiting, blockedOn } of lanes) {
      if (!this.#isChanged && inFlight > bound) this.fail("4.4", `${lane}: ${inFlight} places taken of ${bound}`);
      let held = 0;
      for (const [reason, calls] of Object.entries(blockedOn)) {
        held += calls;
        const shut = known.get(reason);
        if (shut === undefined || shut.starts !== undefined) continue;
        const free = shut.bound - shut.inFlight;
        if (free > 1) this.fail("4.5", `${reason}: ${calls} calls wait for it, and ${free} places are free`);
        if (free === 1) kept.add(reason);
      }
      if (held !== waiting) this.fail("4.5", `${lane}: ${waiting - held} of ${waiting} calls wait beside their places`);
    }
    for (const lane of kept) if (!this.#kept.has(lane)) this.counts.keptLanes++;
    this.#kept.clear();
    for (const lane of kept) this.#kept.add(lane);
  }

  #checkIdle(snapshot: readonly LaneSnapshot[]): void {
    const lanes = new Map(snapshot.map((lane) => [lane.lane, lane]));
    // A store may refuse for reasons of its own.
    if (snapshot.some(({ blockedOn }) => Object.keys(blockedOn).some((lane) => lane.startsWith("store:")))) return;
    const inTurns = new Map<string, number>();
    const abandoned = new Map<string, number>();
    for (const { call, isAbandoned } of this.#bodies) {
      const counted = isAbandoned ? abandoned : inTurns;
      for (const lane of call.lanes.keys()) counted.set(lane, (counted.get(lane) ?? 0) + 1);
    }
    for (const [name, bodies] of abandoned) {
      const told = lanes.get(name)?.abandoned ?? bodies;
      if (told < bodies)
        this.fail("4.8", `${name}: ${bodies} bodies were abandoned and still run, ${told} are told of`);
    }
    for (const batch of this.#batches.values()) {
      for (const call of batch) {
        if (!this.#mustStandBeforeLanes(call, batch)) continue;
        const isHeldUp = [...call.lanes].some(([name, read]) => {
          const { inFlight, rates } = read();
          const taken = name.startsWith("turn") ? (inTurns.get(name) ?? 0) : (lanes.get(name)?.inFlight ?? 0);
          return rates.length > 0 || taken >= inFlight - 1;
        });
        if (!isHeldUp) this.fail("4.5", `${nameOf(call)} waits, and each of its lanes has two places free`);
      }
    }
  }

  /** Whether nothing but lanes can hold the call up, as far as was told: its first attempt, in a phase that has come. */
  #mustStandBeforeLanes(call: WatchedCall, batch: readonly WatchedCall[]): boolean {
    if (!call.isQueued || call.verdict !== undefined || call.attempts.size > 0 || call.isParallelSafe !== true) {
      return false;
    }
    if (this.#isEager || this.#ends.get(`${call.runId} ${call.path}`) !== undefined) return false;
    return batch.every((one) => {
      if (one.verdict === undefined && !one.isQueued) return false;
      if (one.position >= call.position || one.isParallelSafe === true) return true;
      if (one.verdict === undefined) return false;
      return ![...this.#bodies].some((body) => body.call === one || body.above.has(`${one.runId} ${one.callPath}`));
    });
  }

  // ---- gates ----

  gateOpens(runId: string, path: string, name: string): void {
    const batch = `${runId} ${path}`;
    const open = this.#openGates.get(batch);
    if (open !== undefined) this.fail("3.1", `${batch}: ${name} was asked while ${open} was`);
    this.#openGates.set(batch, name);
    this.step();
  }

  gateCloses(runId: string, path: string): void {
    this.#openGates.delete(`${runId} ${path}`);
    this.step();
  }

  // ---- events ----

  hear(event: RunEvent): void {
    const { runId, path, kind } = event;
    const run = `${runId} ${path}`;
    if (kind === "run_resumed") this.#resumed(runId, path);
    const isOver = selfAndAbove(path).some((one) => this.#ends.get(`${runId} ${one}`) !== undefined);
    if (isOver && !AFTERWARDS.has(kind)) this.fail("8", `${run}: ${kind} was told after the end of its run`);
    if (!isOver) this.#ends.set(run, RUN_ENDS.has(kind) ? kind : undefined);
    countEvent(this.counts, event);
    if (kind === "tool_dispatched" && this.#streaming.has(run)) this.counts.early++;
    if (kind === "run_started") this.#agentOfRun.set(run, event.agent);
    if (kind === "model_requested") this.#streaming.add(run);
    if (kind === "model_responded" || RUN_ENDS.has(kind)) this.#streaming.delete(run);
    if (kind === "run_suspended") {
      for (const body of this.#bodies) if (body.isCaller && runOf(body.call) === run) this.#bodies.delete(body);
    }
    if ("callId" in event) this.#hearOfCall(event);
  }

  #hearOfCall(event: Extract<RunEvent, { callId: string }>): void {
    const place = placeOf(event);
    if (event.kind === "tool_requested" && !this.#calls.has(place)) this.#request(event, place);
    const call = this.#calls.get(place);
    if (call === undefined) {
      this.fail("2.3", `${place}: ${event.kind} before tool_requested`);
      return;
    }
    switch (event.kind) {
      case "tool_queued":
        call.isQueued = true;
        if (call.isParallelSafe === false) this.#countSideBySide(call);
        break;
      case "tool_dispatched":
        if (call.attempts.has(event.attempt)) this.fail("7.5", `${place}: attempt ${event.attempt} went out twice`);
        if (call.verdict !== undefined) this.fail("2.2", `${place}: went out after its verdict`);
        call.attempts.add(event.attempt);
        if (this.#tools[call.tool]?.agent !== undefined) {
          const isParallelSafe = call.isParallelSafe !== false;
          this.#enter(call, { isParallelSafe, identity: undefined, isCaller: true, attempt: event.attempt });
        }
        break;
      case "tool_abandoned":
        for (const body of this.#bodies) if (body.call === call) body.isAbandoned = true;
        break;
    }
    if (!VERDICTS.has(event.kind)) return;
    if (call.verdict !== undefined) this.fail("2.4", `${place}: ${event.kind} after ${call.verdict}`);
    call.verdict = event.kind;
    for (const body of this.#bodies) if (body.isCaller && body.call === call) this.#bodies.delete(body);
    this.#checkVerdict(event, call);
  }

  /** The verdict says what the bodies know (`Semantics 7.3`, `8`). */
  #checkVerdict(event: RunEvent, { place, tool, starts }: WatchedCall): void {
    const isIdempotent = this.#tools[tool]?.idempotent === true;
    if (event.kind === "tool_indeterminate") {
      if (isIdempotent) this.fail("8", `${place}: indeterminate, and its tool is idempotent`);
      if (starts === 0 && this.#tools[tool]?.agent === undefined)
        this.fail("8", `${place}: stopped in flight, and no body of it ever started`);
    }
    if (event.kind !== "tool_error") return;
    if (event.status === "never_dispatched" && starts > 0)
      this.fail("8", `${place}: never dispatched, and ${starts} bodies of it started`);
    if (event.status === "error" && STOPPED.has(event.error.code) && !isIdempotent)
      this.fail("8", `${place}: stopped in flight, told as an error, and its tool is not idempotent`);
    if (event.error.code === "TOOL_TIMED_OUT" && event.mayHaveLanded === isIdempotent)
      this.fail("7.3", `${place}: past its ceiling, mayHaveLanded ${event.mayHaveLanded}, idempotent ${isIdempotent}`);
  }

  #request(event: Extract<RunEvent, { callId: string }>, place: string): void {
    const { runId, path, tool, tenant, turn, position } = event;
    const stretch = this.#stretches.get(runId) ?? 0;
    const callPath = `${path}/${turn}.${position}`;
    const declared = this.#tools[tool]?.parallelSafe;
    const call: WatchedCall = {
      ...{ place, runId, path, tool, tenant, turn, position, stretch, callPath },
      lanes: this.#lanesOf({ runId, tenant, tool, stretch, callPath }),
      isQueued: false,
      // With `by_args` only the body knows.
      isParallelSafe: declared === "by_args" ? undefined : declared !== false,
      attempts: new Set(),
      starts: 0,
      verdict: undefined,
    };
    this.#calls.set(place, call);
    const batch = this.#batches.get(batchOf(call)) ?? [];
    this.#batches.set(batchOf(call), batch);
    batch.push(call);
  }

  /** Every lane that a call stands in (`Semantics 4.2`, `4.3`), but for those that V3 watches. */
  #lanesOf(call: Pick<WatchedCall, "runId" | "tenant" | "tool" | "stretch" | "callPath">): WatchedCall["lanes"] {
    const { runId, tenant, tool, stretch, callPath } = call;
    const resource = this.#tools[tool]?.resource;
    const lanes = new Map<string, () => BoundLimits>();
    lanes.set(`tenant:${tenant}`, () => limitsOf(tenantBound(this.#config.perTenant, tenant)));
    lanes.set(`tool:${tool}`, () => limitsOf(this.#config.perTool[tool]));
    if (resource !== undefined) lanes.set(`resource:${resource}`, () => limitsOf(this.#config.perResource[resource]));
    for (const one of [callPath, ...callersOf(callPath.slice(0, callPath.lastIndexOf("/")))]) {
      const cut = one.lastIndexOf("/");
      const path = one.slice(0, cut);
      const turn = `${runId} ${path} turn ${Number.parseInt(one.slice(cut + 1), 10)}${stretch > 0 ? ` resumed ${stretch}` : ""}`;
      const narrowing = new ConcurrencyConfig(
        this.#agents[this.#agentOfRun.get(`${runId} ${path}`) ?? ""]?.concurrency,
      );
      lanes.set(`turn ${turn}`, () => turnLimits(this.#config, narrowing, tenant));
      const narrowedTool = narrowing.perTool[tool];
      if (narrowedTool !== undefined) lanes.set(`turn-tool ${turn} ${tool}`, () => limitsOf(narrowedTool));
      const narrowedResource = resource === undefined ? undefined : narrowing.perResource[resource];
      if (narrowedResource !== undefined)
        lanes.set(`turn-resource ${turn} ${resource}`, () => limitsOf(narrowedResource));
    }
    return lanes;
  }

  /** What was open goes on where it was, in turns of its own. */
  #resumed(runId: string, path: string): void {
    // Runs below it that go on say so themselves.
    this.#ends.delete(`${runId} ${path}`);
    if (path !== "0") return;
    this.#stretches.set(runId, (this.#stretches.get(runId) ?? 0) + 1);
    for (const [batch, calls] of this.#batches) {
      if (calls[0]?.runId === runId) this.#batches.delete(batch);
    }
    for (const [place, call] of this.#calls) {
      if (call.runId !== runId || call.verdict !== undefined) continue;
      const stretch = this.#stretches.get(runId) as number;
      this.#calls.set(place, { ...call, stretch, isQueued: false, lanes: this.#lanesOf({ ...call, stretch }) });
    }
  }

  /** Nothing is left to happen: every run has ended, and every call has its verdict or waits in a run that does (V4). */
  end(): void {
    for (const [run, end] of this.#ends) if (end === undefined) this.fail("8", `${run}: its end was never told`);
    for (const { place, runId, path, verdict } of this.#calls.values()) {
      if (verdict === undefined && this.#ends.get(`${runId} ${path}`) !== "run_suspended")
        this.fail("2.4", `${place}: no verdict was ever told`);
    }
    for (const { call } of this.#bodies) this.fail("8", `${nameOf(call)}: a body of it never ended`);
  }

  /** What is still open, for whoever wants to know why nothing moves. */
  open(): string[] {
    const calls = [...this.#calls.values()].filter(({ verdict }) => verdict === undefined).map(nameOf);
    const lanes = this.#snapshot()
      .filter(({ inFlight, waiting }) => inFlight + waiting > 0)
      .map(({ lane, bound, inFlight, waiting }) => `${lane}: ${inFlight} of ${bound} taken, ${waiting} waiting`);
    return [...calls.map((call) => `${call} has no verdict`), ...lanes];
  }

  // ---- counts ----

  /** A run is about to be cancelled: whose bodies have their places and have not started? */
  cancelling(runId: string): void {
    const met = new Set<string>();
    for (const { holders } of this.#snapshot()) {
      for (const { runId: of, path, callId } of holders) {
        if (of !== runId || path === undefined || callId === undefined) continue;
        const call = this.#calls.get(placeOf({ runId, path, callId }));
        if (call?.verdict === undefined && call?.starts === 0 && this.#tools[call.tool]?.agent === undefined)
          met.add(call.place);
      }
    }
    this.counts.grantsMetByCancel += met.size;
    this.step();
  }

  #isOnLentPlace({ runId, path, callId }: Place): boolean {
    return this.#snapshot().some(({ holders }) =>
      holders.some(
        (one) => one.borrowedFrom !== undefined && one.runId === runId && one.path === path && one.callId === callId,
      ),
    );
  }

  #countSideBySide(call: WatchedCall): void {
    for (const other of this.#calls.values()) {
      if (other === call || other.runId !== call.runId || other.path === call.path) continue;
      if (!other.isQueued || other.verdict !== undefined || other.isParallelSafe !== false) continue;
      const isAbove = `${call.path}/`.startsWith(other.callPath) || `${other.path}/`.startsWith(call.callPath);
      if (isAbove) continue;
      this.counts.exclusiveSideBySide++;
      return;
    }
  }
}

/** Whether a call with these arguments must be alone. */
export function isAlone(tool: SimulatedTool | undefined, args: Readonly<Record<string, unknown>>): boolean {
  return tool?.parallelSafe === false || (tool?.parallelSafe === "by_args" && args.alone === true);
}

function turnLimits(config: ConcurrencyConfig, narrowing: ConcurrencyConfig, tenant: string): BoundLimits {
  const { inFlight, rates } = limitsOf(tenantBound(narrowing.perTenant, tenant));
  const configured = config.maxConcurrentTools ?? DEFAULT_MAX_CONCURRENT_TOOLS;
  return { inFlight: Math.min(configured, narrowing.maxConcurrentTools ?? configured, inFlight), rates };
}

function isBelow(body: WatchedBody, { call }: WatchedBody): boolean {
  return body.above.has(`${call.runId} ${call.callPath}`);
}

function placeOf({ runId, path, callId }: Place): string {
  return `${runId} ${path} ${callId}`;
}

function nameOf({ place, tool }: WatchedCall): string {
  return `${tool} (${place})`;
}

function runOf({ runId, path }: WatchedCall): string {
  return `${runId} ${path}`;
}

function batchOf({ runId, path, turn, stretch }: WatchedCall): string {
  return `${runId} ${path} ${turn} ${stretch}`;
}

/** A run's place, and those of the runs above it: `0/2.1` and `0`. */
function selfAndAbove(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, above) => parts.slice(0, parts.length - above).join("/"));
}

/** The calls above a run: of `0/2.1:2` the call `0/2.1`. */
function callersOf(path: string): string[] {
  return selfAndAbove(path)
    .filter((one) => one.includes("/"))
    .map((one) => one.replace(/:\d+$/, ""));
}
