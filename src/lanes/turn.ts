import { limitsOf } from "./bound.ts";
import { type ConcurrencyConfig, DEFAULT_MAX_CONCURRENT_TOOLS, tenantBound } from "./concurrency-config.ts";
import { Lane } from "./lane.ts";
import type { LaneEngine } from "./lane-engine.ts";
import type { LaneSet } from "./lane-set.ts";

/**
 * One turn's lane: how many calls of one batch may be in flight at once, and what an agent narrows for them
 * (`Semantics 4.1`, `4.2`).
 *
 * Made by `Lanes.turn`, given with each request. It also bounds what is nested in its calls. Nothing keeps it: drop it
 * when the batch is done.
 */
export class Turn {
  /** As given, or a number; what its lane is called in snapshots. */
  readonly name: string;
  /** @internal */
  readonly engine: LaneEngine;
  /** @internal What it narrows. */
  readonly narrowing: ConcurrencyConfig;
  /** @internal */
  readonly lane: Lane;
  /** @internal The last set of lanes that a call of this turn stood in. */
  lastSet: LaneSet | null = null;
  #version = -1;
  readonly #tools: Map<string, Lane> = new Map();
  readonly #resources: Map<string, Lane> = new Map();
  /** What a function of the tenant answered, for each tenant seen. */
  readonly #tenants: Map<string, ReturnType<typeof limitsOf>> = new Map();

  /** @internal */
  constructor(engine: LaneEngine, narrowing: ConcurrencyConfig, name: string) {
    this.engine = engine;
    this.narrowing = narrowing;
    this.name = name;
    this.lane = new Lane("turn", name, Number.POSITIVE_INFINITY);
    this.lane.turn = this;
    this.refreshBound();
  }

  /** @internal Takes over what was configured while nobody used the turn. */
  follow(): void {
    if (this.#version !== this.engine.version) this.refreshBound();
  }

  /** @internal The smallest of what holds for the turn: configured, narrowed, and a narrowed bound of its tenant. */
  refreshBound(): void {
    this.#version = this.engine.version;
    const configured = this.engine.config.maxConcurrentTools ?? DEFAULT_MAX_CONCURRENT_TOOLS;
    const { maxConcurrentTools, perTenant } = this.narrowing;
    const tenants = typeof perTenant === "function" ? [...this.#tenants.values()] : [limitsOf(perTenant)];
    const inFlight = Math.min(
      configured,
      maxConcurrentTools ?? configured,
      ...tenants.map((limits) => limits.inFlight),
    );
    this.engine.setLimits(this.lane, { inFlight, rates: tenants.flatMap((limits) => limits.rates) });
  }

  /** @internal Asks a narrowed function of the tenant. A turn is one tenant's; of several, the smallest bound holds. */
  learnTenant(tenant: string): void {
    const { perTenant } = this.narrowing;
    if (typeof perTenant !== "function") return;
    this.#tenants.set(tenant, limitsOf(this.engine.askOutside(() => tenantBound(perTenant, tenant))));
    this.refreshBound();
  }

  /** @internal */
  narrowedTool(tool: string | undefined): Lane | null {
    return this.#narrowed("turn-tool", this.#tools, tool);
  }

  /** @internal */
  narrowedResource(resource: string | undefined): Lane | null {
    return this.#narrowed("turn-resource", this.#resources, resource);
  }

  #narrowed(kind: "turn-tool" | "turn-resource", lanes: Map<string, Lane>, name: string | undefined): Lane | null {
    const declared = kind === "turn-tool" ? this.narrowing.perTool : this.narrowing.perResource;
    if (name === undefined || !(name in declared)) return null;
    let lane = lanes.get(name);
    if (lane === undefined) {
      lane = new Lane(kind, `${this.name}/${name}`, Number.POSITIVE_INFINITY);
      this.engine.setLimits(lane, limitsOf(declared[name]));
      lanes.set(name, lane);
    }
    return lane;
  }
}
