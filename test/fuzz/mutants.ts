/** Options that are nearly right: valid ones with one or two faults put in, so that a good part of them goes deep. */
import { types } from "node:util";
import fc from "fast-check";
import { hostile, type Recipe } from "./recipe.ts";

type Place = readonly PropertyKey[];

const isPlain = (value: unknown): value is Record<PropertyKey, unknown> => {
  if (typeof value !== "object" || value === null || types.isProxy(value)) return false;
  return Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
};

/** What stands there; what a getter would give is not asked for. */
const memberOf = (holder: object, key: PropertyKey): unknown => Object.getOwnPropertyDescriptor(holder, key)?.value;

/** Every place in plain data. What is a function, an instance or a proxy is a place of its own, and not looked into. */
function placesOf(value: unknown, sealed: readonly string[], at: Place = []): Place[] {
  if (at.length > 4 || !isPlain(value)) return [];
  return Object.keys(value)
    .filter((key) => !sealed.includes(key))
    .flatMap((key) => [[...at, key], ...placesOf(value[key], sealed, [...at, key])]);
}

const FAULTS = ["instead", "dropped", "added", "getter throws", "second look", "traps", "null prototype"] as const;

interface Fault {
  readonly place: Place;
  readonly kind: (typeof FAULTS)[number];
  readonly what: Recipe;
  readonly key: string;
}

const boom = (): never => {
  throw new Error("boom");
};

function put({ place, kind, what, key }: Fault, args: unknown[]): void {
  let holder: unknown = args;
  for (const step of place.slice(0, -1)) holder = isPlain(holder) ? memberOf(holder, step) : undefined;
  const last = place.at(-1) as PropertyKey;
  // What a fault before this one took away.
  if (!isPlain(holder) || !Object.isExtensible(holder)) return;
  // An argument is a value: nobody can make it a getter.
  if (place.length === 1 && (kind === "getter throws" || kind === "second look")) return;
  const right = memberOf(holder, last);
  const set = (value: unknown): void =>
    void Object.defineProperty(holder, last, { value, enumerable: true, configurable: true, writable: true });
  switch (kind) {
    case "instead":
      set(what.make());
      return;
    case "dropped":
      if (Array.isArray(holder)) holder.splice(Number(last), 1);
      else delete holder[last];
      return;
    case "added":
      if (isPlain(right)) set(Object.assign(Array.isArray(right) ? [...right] : { ...right }, { [key]: what.make() }));
      return;
    case "getter throws":
      Object.defineProperty(holder, last, { get: boom, enumerable: true, configurable: true });
      return;
    case "second look": {
      let looks = 0;
      const get = (): unknown => (looks++ === 0 ? right : what.make());
      Object.defineProperty(holder, last, { get, enumerable: true, configurable: true });
      return;
    }
    case "traps":
      if (typeof right === "object" && right !== null) set(new Proxy(right, { get: boom, ownKeys: boom }));
      return;
    case "null prototype":
      if (isPlain(right) && !Array.isArray(right)) set(Object.create(null, Object.getOwnPropertyDescriptors(right)));
  }
}

/** Arguments of a call with faults in them. */
export class Mutant {
  readonly #faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    this.#faults = faults;
  }

  /** Puts the faults into arguments that are right. */
  spoil(args: unknown[]): unknown[] {
    for (const fault of this.#faults) put(fault, args);
    return args;
  }

  [fc.toStringMethod](): string {
    return this.#faults
      .map(({ place, kind, what, key }) => {
        const where = `args${place.map((step) => `[${JSON.stringify(step)}]`).join("")}`;
        return `${where} ${kind}${kind === "added" ? ` ${JSON.stringify(key)}` : ""} ${what.text}`;
      })
      .join("; ");
  }
}

/** Of arguments like `right`; what stands under a `sealed` name is left as it is. */
export function mutant(
  right: unknown[],
  { sealed = [], looksOnce = false, without }: { sealed?: readonly string[]; looksOnce?: boolean; without?: RegExp },
): fc.Arbitrary<Mutant> {
  const kinds = FAULTS.filter((kind) => looksOnce || kind !== "second look");
  const fault = fc.record({
    place: fc.constantFrom(...placesOf(right, sealed)),
    kind: fc.oneof({ arbitrary: fc.constant("instead" as const), weight: 6 }, fc.constantFrom(...kinds)),
    what: hostile().filter(({ text }) => without?.test(text) !== true),
    key: fc.constantFrom("extra", "__proto__", "constructor", "toJSON", "then", "length", "tool", "-1"),
  });
  return fc.array(fault, { minLength: 1, maxLength: 2 }).map((faults) => new Mutant(faults));
}
