import type { Clock } from "../base/clock.ts";
import { type BoundLimits, limitsOf, UNBOUNDED } from "./bound.ts";
import { type ConcurrencyConfig, tenantBound } from "./concurrency-config.ts";
import { Lane } from "./lane.ts";
import type { LaneEngine } from "./lane-engine.ts";
import type { LaneSet } from "./lane-set.ts";
import { StartWindow } from "./start-window.ts";
import { StoreAnswers } from "./store-answers.ts";

/**
 * Which lanes exist.
 *
 * Owns finding, making and forgetting lanes by name; the lanes of a turn belong to the turn.
 *
 * R1 Of one name and kind there is at most one lane at a time.
 * R2 A lane that nobody uses or waits for is forgotten, once its starts count no more. Only tools and resources with a
 *    declared bound stay: there are as many as somebody wrote down.
 */
export class LaneRegistry {
  readonly tenants: Map<string, Lane> = new Map();
  readonly tools: Map<string, Lane> = new Map();
  readonly resources: Map<string, Lane> = new Map();
  readonly arguments: Map<string, Lane> = new Map();
  readonly exclusives: Map<string, Lane> = new Map();
  readonly stores: Map<string, Lane> = new Map();
  /** Where calls without a tenant, or without a tool, stand: it bounds nothing, but groups them. */
  readonly noTenant: Lane = new Lane("tenant", "", Number.POSITIVE_INFINITY);
  readonly noTool: Lane = new Lane("tool", "", Number.POSITIVE_INFINITY);
  readonly #engine: LaneEngine;
  readonly #clock: Clock;

  constructor(engine: LaneEngine, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  /** @throws ConfigurationError when a function of the tenant throws or gives no bound. */
  tenant(name: string | undefined): Lane {
    if (name === undefined) return this.noTenant;
    const known = this.tenants.get(name);
    if (known !== undefined) return known;
    const { perTenant } = this.#engine.config;
    const limits = this.#askTenant(this.#engine.config, name);
    const lane = this.#make(this.tenants, "tenant", name, limits);
    if (typeof perTenant === "function") lane.readBound = () => this.#readQuietly(lane);
    return lane;
  }

  /**
   * Asks a function of the tenant again when a call arrives, and tells whether the lane may have opened by it.
   *
   * @throws ConfigurationError when the function throws or gives no bound.
   */
  refreshTenant(lane: Lane): boolean {
    if (lane.readBound === null) return false;
    this.setLimits(lane, this.#askTenant(this.#engine.config, lane.name));
    return lane.hasParked && lane.isOpen;
  }

  tool(name: string | undefined): Lane {
    if (name === undefined) return this.noTool;
    return this.tools.get(name) ?? this.#make(this.tools, "tool", name, limitsOf(this.#engine.config.perTool[name]));
  }

  resource(name: string): Lane {
    return (
      this.resources.get(name) ??
      this.#make(this.resources, "resource", name, limitsOf(this.#engine.config.perResource[name]))
    );
  }

  /** The lane of all calls of a tool with these arguments. */
  argumentsOf(tool: string, canonical: string): Lane {
    // The length in front keeps a tool's name and its arguments apart, whatever is in them.
    const name = `${tool.length}:${tool}${canonical}`;
    return this.arguments.get(name) ?? this.#make(this.arguments, "arguments", name, ONE);
  }

  exclusive(key: string): Lane {
    return this.exclusives.get(key) ?? this.#make(this.exclusives, "exclusive", key, ONE);
  }

  /** The lane that is shut while a store has refused these places. */
  store(places: readonly Lane[]): Lane {
    const name = places.map((lane) => lane.id).join(" ");
    const known = this.stores.get(name);
    if (known !== undefined) return known;
    const lane = this.#make(this.stores, "store", name, UNBOUNDED);
    lane.answers = new StoreAnswers(places);
    return lane;
  }

  setLimits(lane: Lane, limits: BoundLimits): void {
    lane.bound = limits.inFlight;
    if (limits.rates.length > 0) {
      this.#engine.hasRates = true;
      if (lane.starts === null) lane.starts = new StartWindow(this.#clock, limits.rates);
      else if (lane.starts.setRates(limits.rates)) this.#engine.rearmReopening(lane);
    } else if (lane.starts !== null) {
      // Whoever waits for the rate is looked at when it would have opened, at the latest.
      if (!lane.hasParked) lane.starts.reopening?.cancel();
      lane.starts.expiry?.cancel();
      lane.starts = null;
    }
  }

  /**
   * Takes over a changed config; the lanes that may have opened by it are for the caller to look at.
   *
   * @throws ConfigurationError when a function of the tenant throws or gives no bound; nothing has changed then.
   */
  configure(config: ConcurrencyConfig): void {
    const tenants = [...this.tenants.values()].map((lane) => ({ lane, limits: this.#askTenant(config, lane.name) }));
    for (const { lane, limits } of tenants) {
      lane.readBound = typeof config.perTenant === "function" ? () => this.#readQuietly(lane) : null;
      this.setLimits(lane, limits);
    }
    for (const [name, lane] of this.tools) this.setLimits(lane, limitsOf(config.perTool[name]));
    for (const [name, lane] of this.resources) this.setLimits(lane, limitsOf(config.perResource[name]));
  }

  /** Every lane that is found by name. */
  *all(): Generator<Lane> {
    for (const lanes of [this.tenants, this.tools, this.resources, this.arguments, this.exclusives, this.stores]) {
      yield* lanes.values();
    }
    yield this.noTenant;
    yield this.noTool;
  }

  collectSet(set: LaneSet): void {
    if (set.tenantLane.used === 0) this.collect(set.tenantLane);
    if (set.toolLane.used === 0) this.collect(set.toolLane);
    if (set.resourceLane !== null && set.resourceLane.used === 0) this.collect(set.resourceLane);
    if (set.inner !== null) for (const lane of set.inner) if (lane.used === 0) this.collect(lane);
  }

  /** Forgets a lane that nobody uses or waits for. */
  collect(lane: Lane): void {
    const lanes = this.#homeOf(lane);
    if (lanes === null || lane.dead || !lane.isIdle) return;
    if (lane.starts !== null && this.#keepForWindow(lane, lane.starts)) return;
    lane.dead = true;
    lane.starts?.expiry?.cancel();
    lanes.delete(lane.name);
    if (lane.kind === "store") this.#engine.storeClaims?.drop(lane);
  }

  #keepForWindow(lane: Lane, starts: StartWindow): boolean {
    const wait = starts.endsInMs();
    if (wait === 0) return false;
    starts.expiry ??= this.#clock.setTimer(
      wait,
      () => {
        starts.expiry = null;
        this.collect(lane);
      },
      { background: true },
    );
    return true;
  }

  /** Where a lane is found by name; null for those that are not, or that stay. */
  #homeOf(lane: Lane): Map<string, Lane> | null {
    switch (lane.kind) {
      case "tenant":
        return lane === this.noTenant ? null : this.tenants;
      case "tool":
        return lane === this.noTool || lane.name in this.#engine.config.perTool ? null : this.tools;
      case "resource":
        return lane.name in this.#engine.config.perResource ? null : this.resources;
      case "arguments":
        return this.arguments;
      case "exclusive":
        return this.exclusives;
      case "store":
        return this.stores;
      default:
        return null;
    }
  }

  #make(lanes: Map<string, Lane>, kind: Lane["kind"], name: string, limits: BoundLimits): Lane {
    const lane = new Lane(kind, name, limits.inFlight);
    if (limits.rates.length > 0) this.setLimits(lane, limits);
    lanes.set(name, lane);
    return lane;
  }

  #askTenant(config: ConcurrencyConfig, name: string): BoundLimits {
    const { perTenant } = config;
    if (typeof perTenant !== "function") return limitsOf(perTenant);
    return limitsOf(this.#engine.askOutside(() => tenantBound(perTenant, name)));
  }

  /** While places are handed on nobody is there to be told: the bound stays as it was, and the error is told later. */
  #readQuietly(lane: Lane): void {
    try {
      this.setLimits(lane, this.#askTenant(this.#engine.config, lane.name));
    } catch (error) {
      this.#engine.afterwards.push(() => {
        throw error;
      });
    }
  }
}

const ONE: BoundLimits = { inFlight: 1, rates: [] };
