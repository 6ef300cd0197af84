/**
 * The border of the runtime: whatever a developer's code hands over becomes plain JSON of the runtime's own here
 * (`Semantics 2.6`, `2.12`).
 *
 * J1. What comes out is made of `null`, booleans, finite numbers, well-formed strings, arrays without holes and plain
 *     objects, shares nothing with what came in, and survives JSON text unchanged.
 * J2. Nothing of the value's own code can crash or hang it: what throws, circles, or nests without end is a
 *     {@link PlainJsonError} that says where.
 * J3. Work is linear in what comes out, and what comes out is bounded: a few objects that share each other can stand
 *     for 2^100, so the result is counted and not the input.
 * J4. A key is data: `__proto__` becomes an own key, never a prototype.
 *
 * Each getter is read once. Which results a body may return is the tools room's business; this file knows values only.
 */
import { answersEverything } from "./answers-everything.ts";
import { describeThrown } from "./describe-thrown.ts";
import { LanekeeperError } from "./errors.ts";
import { isInstance } from "./is-instance.ts";
import { wellFormed } from "./well-formed.ts";

/** A value that JSON can say. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Where {@link plainJson} gives up. */
export interface PlainJsonLimits {
  /** How many arrays and objects may stand inside each other. Default 500. */
  deepest?: number;
  /** How many values may come out, each member counted. Default 2,000,000. */
  values?: number;
}

/** Far from the end of the stack, and deeper than any vendor takes. */
const DEEPEST = 500;
const MOST_VALUES = 2_000_000;
/** Text of all strings together; more cannot become one JSON text. */
const MOST_CHARACTERS = 2 ** 28;
/** A chain of prototypes that is longer was made to be. */
const LONGEST_CHAIN = 64;

/** A value cannot become plain JSON. The message says where in it and why. */
export class PlainJsonError extends LanekeeperError {
  static override readonly errorName: string = "PlainJsonError";
}

/**
 * A plain-JSON copy of `value`, well-formed and sharing nothing with it; `undefined` only for `undefined` itself.
 *
 * A `Date` becomes its ISO form, a `bigint` its decimal text, `NaN` and the infinities `null`, `-0` becomes `0`, a `Map`
 * its entries, a `Set` an array, bytes base64, an `Error` its name and message; anything else what `JSON.stringify`
 * makes of it: functions, symbols and `undefined` are left out of objects and are `null` in arrays.
 *
 * @throws `PLAIN_JSON` for what circles, throws, is a function, a symbol or a promise, or is past a limit.
 */
export function plainJson(value: unknown, limits: PlainJsonLimits = {}): Json | undefined {
  if (typeof value === "function" || typeof value === "symbol") {
    throw new PlainJsonError(`a ${typeof value} has no JSON`);
  }
  const copier = new Copier(limits.deepest ?? DEEPEST, limits.values ?? MOST_VALUES);
  try {
    return copier.copy(value, "");
  } catch (error) {
    if (isInstance(error, PlainJsonError)) throw error;
    throw copier.failure(describeThrown(error), error);
  }
}

/** Freezes plain JSON with everything in it. */
export function freezeJson<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) freezeJson(member);
  }
  return value;
}

/** Sets a member as data, whatever its name (J4). */
function setMember(object: object, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
  } else {
    (object as Record<string, unknown>)[key] = value;
  }
}

class Copier {
  readonly #deepest: number;
  #valuesLeft: number;
  #charactersLeft = MOST_CHARACTERS;
  /** What stands around the value being copied; meeting one of them again is a circle. */
  readonly #around = new Set<object>();
  /** The way to the value being copied, for messages. */
  readonly #path: (string | number)[] = [];

  constructor(deepest: number, values: number) {
    this.#deepest = deepest;
    this.#valuesLeft = values;
  }

  /** `key` is what `toJSON` is told. `undefined` means: nothing that JSON can say. */
  copy(value: unknown, key: string): Json | undefined {
    if (--this.#valuesLeft < 0) throw this.failure("too many values");
    switch (typeof value) {
      case "string":
        return this.#text(value);
      case "number":
        // Adding 0 turns -0 into 0, as JSON text does.
        return Number.isFinite(value) ? value + 0 : null;
      case "boolean":
        return value;
      case "bigint":
        return this.#text(value.toString());
      case "object":
        return value === null ? null : this.#enter(value, key);
      default:
        return undefined;
    }
  }

  failure(problem: string, cause?: unknown): PlainJsonError {
    const place = this.#path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
    const shown = place.length > 200 ? `${place.slice(1, 200)}…` : place.replace(/^\./, "");
    return new PlainJsonError(shown === "" ? problem : `${shown}: ${problem}`, cause === undefined ? {} : { cause });
  }

  #text(text: string): string {
    // A text alone is as long as it is; many together must fit into one.
    if (this.#path.length > 0) {
      this.#charactersLeft -= text.length;
      if (this.#charactersLeft < 0) throw this.failure("too much text");
    }
    return wellFormed(text);
  }

  #enter(value: object, key: string): Json | undefined {
    if (this.#around.has(value)) throw this.failure("circular: it contains itself");
    if (this.#around.size >= this.#deepest) throw this.failure(`nested more than ${this.#deepest} deep`);
    this.#around.add(value);
    const copy = this.#object(value, key);
    this.#around.delete(value);
    return copy;
  }

  #object(value: object, key: string): Json | undefined {
    const prototype: unknown = Object.getPrototypeOf(value);
    const known = prototype === Object.prototype || prototype === null || Array.isArray(value);
    if (!known) {
      const kind = kindOf(prototype, value);
      if (kind !== undefined) return this.#builtIn(kind, value);
    }
    const toJson = (value as { toJSON?: unknown }).toJSON;
    if (typeof toJson === "function") {
      if (answersEverything(value)) throw this.failure("a proxy that answers every property");
      // As in JSON.stringify, what toJSON returns is not asked for a toJSON again.
      const stand: unknown = Reflect.apply(toJson, value, [key]);
      if (stand === value) return this.#members(value);
      if (typeof stand !== "object" || stand === null) return this.copy(stand, key);
      if (this.#around.has(stand)) throw this.failure("circular: its toJSON gives what it stands in");
      this.#around.add(stand);
      const copy = this.#standIn(stand);
      this.#around.delete(stand);
      return copy;
    }
    return this.#members(value);
  }

  /** What `toJSON` returned: a Date or a Map among it is still one. */
  #standIn(value: object): Json | undefined {
    const kind = Array.isArray(value) ? undefined : kindOf(Object.getPrototypeOf(value), value);
    return kind === undefined ? this.#members(value) : this.#builtIn(kind, value);
  }

  #members(value: object): Json {
    return Array.isArray(value) ? this.#array(value) : this.#record(value as Record<string, unknown>);
  }

  #array(value: readonly unknown[]): Json[] {
    const length = value.length;
    // Checked before the loop: an array of a billion holes is small until it is copied.
    if (length > this.#valuesLeft) throw this.failure(`too many values: an array of ${length}`);
    const copy: Json[] = [];
    for (let index = 0; index < length; index++) {
      this.#path.push(index);
      copy.push(this.copy(value[index], String(index)) ?? null);
      this.#path.pop();
    }
    return copy;
  }

  #record(value: Record<string, unknown>): { [key: string]: Json } {
    const copy: { [key: string]: Json } = {};
    for (const key of Object.keys(value)) {
      this.#path.push(key);
      const member = this.copy(value[key], key);
      if (member !== undefined) setMember(copy, this.#text(key), member);
      this.#path.pop();
    }
    return copy;
  }

  #builtIn(kind: Kind, value: object): Json | undefined {
    switch (kind) {
      case "Date": {
        const time = Date.prototype.getTime.call(value as Date);
        return Number.isNaN(time) ? null : Date.prototype.toISOString.call(value as Date);
      }
      case "Map": {
        const entries: unknown[] = [];
        Map.prototype.forEach.call(value as Map<unknown, unknown>, (member, key) => entries.push([key, member]));
        return this.#array(entries);
      }
      case "Set": {
        const members: unknown[] = [];
        Set.prototype.forEach.call(value as Set<unknown>, (member) => members.push(member));
        return this.#array(members);
      }
      case "Error":
        return this.#error(value as { name: unknown; message: unknown });
      case "Promise":
        throw this.failure("a promise; await it first");
      case "ArrayBuffer":
      case "SharedArrayBuffer":
        return this.#text(base64(new Uint8Array(value as ArrayBuffer)));
      case "bytes": {
        const view = value as ArrayBufferView<ArrayBuffer>;
        return this.#text(base64(new Uint8Array(view.buffer, view.byteOffset, view.byteLength)));
      }
      default:
        return this.copy(PRIMITIVES[kind](value), "");
    }
  }

  #error(error: { name: unknown; message: unknown }): Json {
    const { name, message } = error;
    return {
      name: this.#text(typeof name === "string" ? name : "Error"),
      message: this.#text(typeof message === "string" ? message : ""),
    };
  }
}

/** What a boxed primitive holds. Throws for what is none, as the checks below want it. */
const PRIMITIVES = {
  String: (value: unknown): unknown => String.prototype.valueOf.call(value),
  Number: (value: unknown): unknown => Number.prototype.valueOf.call(value),
  Boolean: (value: unknown): unknown => Boolean.prototype.valueOf.call(value),
  BigInt: (value: unknown): unknown => BigInt.prototype.valueOf.call(value),
} as const;

/** The kinds that have a place of their own in the table, with a look at the internal slot that makes one. */
const SLOTS = {
  ...PRIMITIVES,
  Date: (value: unknown): unknown => Date.prototype.getTime.call(value as Date),
  Map: (value: unknown): unknown => Map.prototype.has.call(value as Map<unknown, unknown>, undefined),
  Set: (value: unknown): unknown => Set.prototype.has.call(value as Set<unknown>, undefined),
  ArrayBuffer: getterOf(ArrayBuffer.prototype, "byteLength"),
  SharedArrayBuffer: (value: unknown): unknown => getterOf(SharedArrayBuffer.prototype, "byteLength")(value),
  // There is no slot to look at from outside; what inherits from an Error prototype passes for one.
  Error: (): unknown => true,
  Promise: (): unknown => true,
} as const;

type Kind = keyof typeof SLOTS | "bytes";

/**
 * Which built-in `value` is, of whatever realm, by the constructors along its prototypes and then by its slot.
 * Walked by hand and not by `instanceof`: a proxy may answer with a new prototype for ever.
 */
function kindOf(first: unknown, value: object): Kind | undefined {
  if (ArrayBuffer.isView(value)) return "bytes";
  let prototype = first;
  for (let steps = 0; typeof prototype === "object" && prototype !== null; steps++) {
    if (steps === LONGEST_CHAIN) throw new Error("its chain of prototypes has no end");
    const maker: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    const name: unknown =
      typeof maker === "function" ? Object.getOwnPropertyDescriptor(maker, "name")?.value : undefined;
    if (typeof name === "string" && Object.hasOwn(SLOTS, name) && hasSlot(name as keyof typeof SLOTS, value)) {
      return name as Kind;
    }
    prototype = Object.getPrototypeOf(prototype);
  }
  return undefined;
}

function hasSlot(kind: keyof typeof SLOTS, value: object): boolean {
  try {
    SLOTS[kind](value);
    return true;
  } catch {
    return false;
  }
}

function getterOf(prototype: object, key: string): (value: unknown) => unknown {
  const get = Object.getOwnPropertyDescriptor(prototype, key)?.get;
  return (value) => (get as () => unknown).call(value);
}

/** Bytes in one piece of `btoa`: spreading more than this would end the stack. */
const PIECE = 0x6000;

function base64(bytes: Uint8Array): string {
  const host = (globalThis as { Buffer?: typeof Buffer }).Buffer;
  if (host !== undefined) return host.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  let text = "";
  // A multiple of 3 bytes a piece, so that no padding stands in the middle.
  for (let at = 0; at < bytes.length; at += PIECE) text += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  return text;
}
