import { checkOptions, checkPositiveInteger, refuse } from "../base/option-checks.ts";

/** How many calls may start within a stretch of time, measured over every stretch of that length. */
export interface StartRate {
  /** How many calls may start: an integer of at least 1. */
  readonly count: number;
  /** The length of the stretch in seconds: above 0, fractions are fine. */
  readonly perSeconds: number;
}

/**
 * How much one lane lets through: calls in flight at once, calls started per time, or both (`Semantics 4.1`).
 *
 * A number is a bound on calls in flight. `starts` takes one rate, or several that hold together (10 a second and 200 a
 * minute). An object names at least one of the two; there is no way to write "nothing may pass".
 */
export type Bound = number | { readonly inFlight?: number; readonly starts?: StartRate | readonly StartRate[] };

/** A bound taken apart: what the lanes count with. */
export interface BoundLimits {
  /** Calls in flight at once; `Infinity` when only starts are bounded. */
  readonly inFlight: number;
  /** Every rate holds; none when empty. */
  readonly rates: readonly StartRate[];
}

/** What a lane without a declared bound counts with. */
export const UNBOUNDED: BoundLimits = Object.freeze({ inFlight: Number.POSITIVE_INFINITY, rates: Object.freeze([]) });

/** Checks a declared bound and returns a frozen copy of it. */
export function checkBound(path: string, value: unknown): Bound {
  if (typeof value === "number") return checkPositiveInteger(path, value);
  if (typeof value !== "object" || value === null) {
    refuse(path, "an integer of at least 1, or { inFlight?, starts?: { count, perSeconds } }", value);
  }
  const { inFlight, starts } = checkOptions(path, value, ["inFlight", "starts"]);
  if (inFlight === undefined && starts === undefined) refuse(path, "inFlight, starts or both", value);
  return joinBound(
    inFlight === undefined ? Number.POSITIVE_INFINITY : checkPositiveInteger(`${path}.inFlight`, inFlight),
    starts === undefined ? [] : checkRates(`${path}.starts`, starts),
  );
}

/** Takes a checked bound apart. */
export function limitsOf(bound: Bound | undefined): BoundLimits {
  if (bound === undefined) return UNBOUNDED;
  if (typeof bound === "number") return { inFlight: bound, rates: [] };
  const rates =
    bound.starts === undefined ? [] : Array.isArray(bound.starts) ? bound.starts : [bound.starts as StartRate];
  return { inFlight: bound.inFlight ?? Number.POSITIVE_INFINITY, rates };
}

/**
 * The bound that holds both of two: the smaller number in flight, and every rate of either.
 *
 * Two rates over different stretches cannot be compared in general (10 a second against 200 a minute), so both are kept;
 * a rate that another one implies is left out.
 */
export function tighterBound(one: Bound, other: Bound): Bound {
  const a = limitsOf(one);
  const b = limitsOf(other);
  return joinBound(Math.min(a.inFlight, b.inFlight), [...a.rates, ...b.rates]);
}

/** The shortest way to write limits: a plain number where no rate is declared. */
function joinBound(inFlight: number, declared: readonly StartRate[]): Bound {
  const rates = declared.filter((rate, place) => !declared.some((other, at) => implies(other, at, rate, place)));
  if (rates.length === 0) return inFlight;
  const starts = rates.length === 1 ? (rates[0] as StartRate) : Object.freeze(rates);
  return Object.freeze(inFlight === Number.POSITIVE_INFINITY ? { starts } : { inFlight, starts });
}

/** Whether whoever keeps `other` keeps `rate`: no more starts in a stretch at least as long. Of equal ones the first stays. */
function implies(other: StartRate, at: number, rate: StartRate, place: number): boolean {
  if (at === place || other.count > rate.count || other.perSeconds < rate.perSeconds) return false;
  return at < place || other.count < rate.count || other.perSeconds > rate.perSeconds;
}

function checkRates(path: string, value: unknown): StartRate[] {
  if (!Array.isArray(value)) return [checkRate(path, value)];
  if (value.length === 0) refuse(path, "at least one rate", value);
  return Array.from(value, (rate: unknown, place) => checkRate(`${path}[${place}]`, rate));
}

function checkRate(path: string, value: unknown): StartRate {
  const { count, perSeconds } = checkOptions(path, value, ["count", "perSeconds"]);
  checkPositiveInteger(`${path}.count`, count);
  if (typeof perSeconds !== "number" || !(perSeconds > 0) || perSeconds === Number.POSITIVE_INFINITY) {
    refuse(`${path}.perSeconds`, "a number of seconds above 0", perSeconds);
  }
  return Object.freeze({ count: count as number, perSeconds });
}
