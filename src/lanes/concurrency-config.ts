import { hush } from "../base/hush.ts";
import { isInstance } from "../base/is-instance.ts";
import { checkOptions, checkPositiveInteger, checkSeconds, readable, refuse } from "../base/option-checks.ts";
import { type Bound, checkBound, tighterBound } from "./bound.ts";

/** How many calls of one turn may be in flight at once when nothing is declared. */
export const DEFAULT_MAX_CONCURRENT_TOOLS = 8;

/** How long a body that ignores its signal keeps its permits after the verdict, when nothing is declared. */
export const DEFAULT_ABANDON_SECONDS = 30;

/** The bound of a tenant, or how to find it. */
export type TenantBound = Bound | ((tenant: string) => Bound);

/** What a {@link ConcurrencyConfig} is made of; every field may be left out (`Semantics 4.1`). */
export interface ConcurrencyOptions {
  /** Calls of one turn's batch in flight at once. Left out: 8. */
  readonly maxConcurrentTools?: number;
  /** One tool across every run. Left out: no bound of its own. */
  readonly perTool?: Readonly<Record<string, Bound>>;
  /**
   * One tenant across all of its runs; a function is asked at each admission and must not use the lanes itself.
   * Left out: no bound.
   */
  readonly perTenant?: TenantBound;
  /** What several tools share: a server, a partner's API. Left out: no bound. */
  readonly perResource?: Readonly<Record<string, Bound>>;
  /** A tool's own ceiling in seconds, counted from dispatch. `Infinity` or left out: none. */
  readonly perToolSeconds?: Readonly<Record<string, number>>;
  /** How long a call may wait for its lanes. `Infinity` or left out: as long as it takes. */
  readonly maxWaitSeconds?: number;
  /** How many calls may wait in one lane. Left out: no limit. */
  readonly maxWaiting?: number;
  /** How long a body that ignores its signal keeps its permits after the verdict. Left out: 30; `Infinity`: for ever. */
  readonly abandonSeconds?: number;
}

const FIELDS = [
  "maxConcurrentTools",
  "perTool",
  "perTenant",
  "perResource",
  "perToolSeconds",
  "maxWaitSeconds",
  "maxWaiting",
  "abandonSeconds",
] as const;

/**
 * The declared bounds, checked and immutable (`Semantics 4.1`, `4.2`).
 *
 * A plain object is accepted wherever one of these is expected. What is left out bounds nothing here; the default of 8
 * calls a turn is applied where a turn is made, so that an empty config narrows nothing.
 *
 * @throws ConfigurationError (`CONFIGURATION`) for an unknown key, a bound that is not an integer of at least 1, or a
 * duration that is not above 0; the message names the path, what was expected and what came.
 */
export class ConcurrencyConfig {
  readonly maxConcurrentTools: number | undefined;
  /** Frozen and without a prototype: a tool named `constructor` is a name like any other. */
  readonly perTool: Readonly<Record<string, Bound>>;
  readonly perTenant: TenantBound | undefined;
  /** Frozen and without a prototype. */
  readonly perResource: Readonly<Record<string, Bound>>;
  /** Frozen and without a prototype; a ceiling of `Infinity` is left out. */
  readonly perToolSeconds: Readonly<Record<string, number>>;
  /** `undefined` when a call may wait as long as it takes. */
  readonly maxWaitSeconds: number | undefined;
  readonly maxWaiting: number | undefined;
  /** `Infinity` when a body is never abandoned; `undefined` when nothing is declared. */
  readonly abandonSeconds: number | undefined;

  constructor(options: ConcurrencyOptions | ConcurrencyConfig = {}, path = "concurrency") {
    const given = readable(path, () => checkOptions(path, plain(path, options), FIELDS));
    this.maxConcurrentTools = optional(given.maxConcurrentTools, (value) =>
      checkPositiveInteger(`${path}.maxConcurrentTools`, value),
    );
    this.perTool = checkMap(`${path}.perTool`, given.perTool, checkBound);
    this.perTenant = optional(given.perTenant, (value) => checkTenantBound(`${path}.perTenant`, value));
    this.perResource = checkMap(`${path}.perResource`, given.perResource, checkBound);
    this.perToolSeconds = checkMap(`${path}.perToolSeconds`, given.perToolSeconds, checkSeconds);
    this.maxWaitSeconds = checkSeconds(`${path}.maxWaitSeconds`, given.maxWaitSeconds);
    this.maxWaiting = optional(given.maxWaiting, (value) => checkPositiveInteger(`${path}.maxWaiting`, value));
    this.abandonSeconds = optional(
      given.abandonSeconds,
      (value) => checkSeconds(`${path}.abandonSeconds`, value) ?? Number.POSITIVE_INFINITY,
    );
    Object.freeze(this);
  }

  /**
   * The config that holds both: the smaller of each field, the union of the maps' names (`Semantics 4.2`).
   *
   * Never widens: of two bounds the smaller number in flight holds and every declared rate; two functions of the tenant
   * are both asked.
   */
  narrowedTo(other: ConcurrencyOptions | ConcurrencyConfig): ConcurrencyConfig {
    const tighter = isInstance(other, ConcurrencyConfig) ? other : new ConcurrencyConfig(other);
    return new ConcurrencyConfig(
      withoutUndefined({
        maxConcurrentTools: smaller(this.maxConcurrentTools, tighter.maxConcurrentTools),
        perTool: union(this.perTool, tighter.perTool, tighterBound),
        perTenant: tighterTenantBound(this.perTenant, tighter.perTenant),
        perResource: union(this.perResource, tighter.perResource, tighterBound),
        perToolSeconds: union(this.perToolSeconds, tighter.perToolSeconds, Math.min),
        maxWaitSeconds: smaller(this.maxWaitSeconds, tighter.maxWaitSeconds),
        maxWaiting: smaller(this.maxWaiting, tighter.maxWaiting),
        abandonSeconds: smaller(this.abandonSeconds, tighter.abandonSeconds),
      }),
    );
  }
}

/** Changes to a config: only what is named changes. A field or map entry of `undefined` takes the declaration away. */
export type ConcurrencyChanges = {
  readonly [Field in keyof ConcurrencyOptions]?:
    | (NonNullable<ConcurrencyOptions[Field]> extends Readonly<Record<string, infer Entry>>
        ? Readonly<Record<string, Entry | undefined>>
        : ConcurrencyOptions[Field])
    | undefined;
};

/** `config` with `changes` merged in, checked like a config of its own. */
export function changedConfig(config: ConcurrencyConfig, changes: ConcurrencyChanges): ConcurrencyConfig {
  const path = "concurrency";
  const given = readable(path, () => checkOptions(path, plain(path, changes), FIELDS));
  const merged: Record<string, unknown> = { ...config };
  for (const [field, value] of Object.entries(given)) {
    const present = merged[field];
    const isMap = field === "perTool" || field === "perResource" || field === "perToolSeconds";
    merged[field] =
      isMap && value !== undefined
        ? readable(`${path}.${field}`, () => ({
            __proto__: null,
            ...(present as object),
            ...plainMap(`${path}.${field}`, value),
          }))
        : value;
  }
  return new ConcurrencyConfig(merged as ConcurrencyOptions, path);
}

/** Asks for a tenant's bound and checks the answer: a function is somebody else's code. */
export function tenantBound(declared: TenantBound | undefined, tenant: string): Bound | undefined {
  if (typeof declared !== "function") return declared;
  const path = `concurrency.perTenant(${JSON.stringify(tenant)})`;
  return readable(path, () => {
    const answer: unknown = declared(tenant);
    // An async function answers no bound, which is told; what its promise brings is nobody's to hear.
    hush(answer);
    return checkBound(path, answer);
  });
}

function checkTenantBound(path: string, value: unknown): TenantBound {
  return typeof value === "function" ? (value as TenantBound) : readable(path, () => checkBound(path, value));
}

function tighterTenantBound(one: TenantBound | undefined, other: TenantBound | undefined): TenantBound | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  if (typeof one !== "function" && typeof other !== "function") return tighterBound(one, other);
  return (tenant) => tighterBound(tenantBound(one, tenant) as Bound, tenantBound(other, tenant) as Bound);
}

function optional<T>(value: unknown, check: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : check(value);
}

function checkMap<T>(
  path: string,
  value: unknown,
  check: (path: string, entry: unknown) => T | undefined,
): Readonly<Record<string, T>> {
  const map = Object.create(null) as Record<string, T>;
  for (const [name, entry] of readable(path, () => Object.entries(plainMap(path, value)))) {
    const checked =
      entry === undefined ? undefined : readable(`${path}.${name}`, () => check(`${path}.${name}`, entry));
    if (checked !== undefined) map[name] = checked;
  }
  return Object.freeze(map);
}

function plainMap(path: string, value: unknown): object {
  return value === undefined ? {} : readable(path, () => plain(path, value));
}

/** A `Map`, an array or a string would be read as an object without entries, and declare nothing in silence. */
function plain(path: string, value: unknown): object {
  if (typeof value !== "object" || value === null || Object.prototype.toString.call(value) !== "[object Object]") {
    refuse(path, "an object", value);
  }
  return value;
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function union<T>(
  one: Readonly<Record<string, T>>,
  other: Readonly<Record<string, T>>,
  both: (a: T, b: T) => T,
): Record<string, T> {
  const map = Object.assign(Object.create(null) as Record<string, T>, one);
  for (const [name, entry] of Object.entries(other)) map[name] = name in map ? both(map[name] as T, entry) : entry;
  return map;
}

/** Leaving a field out and naming it `undefined` are the same to a config, but not to the compiler. */
function withoutUndefined(
  fields: { [Field in keyof ConcurrencyOptions]: ConcurrencyOptions[Field] | undefined },
): ConcurrencyOptions {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
