import { copyJson } from "../base/copy-json.ts";
import { ConfigurationError } from "../base/errors.ts";
import { hush } from "../base/hush.ts";
import { isInstance } from "../base/is-instance.ts";
import { plainJson } from "../base/plain-json.ts";
import type { RecordedDelta } from "../journal/journal-entry.ts";
import type { ToolState } from "../tools/tool-context.ts";

/** Combines what stands under a key with what a call wrote to it. */
// biome-ignore lint/suspicious/noExplicitAny: a key's type is the developer's.
export type Reducer = (old: any, next: any) => unknown;

/** One declared key of an agent's state. */
export interface StateKey {
  /** The value at the start of a run. */
  initial?: unknown;
  /** How a call's write is combined with what stands there; without it the later call wins. */
  reduce?: Reducer | undefined;
}

/** An agent's declared state. Keys that are not declared may be written too; for them the later call wins. */
export type StateDeclaration = Readonly<Record<string, StateKey>>;

const GONE: unique symbol = Symbol("gone");

/** What one call changed: the last write to each key, or that it is gone. */
export type Delta = Map<string, unknown>;

/** A delta as a journal keeps it. */
export function recordDelta(delta: Delta): RecordedDelta {
  return Array.from(delta, ([key, value]) => (value === GONE ? { key, gone: true } : { key, value }));
}

/**
 * The state of one run (`Semantics 6`): plain JSON, copied in and out.
 *
 * A call sees it as of its phase's start, with its own writes and nobody else's; its delta is merged when the phase
 * resolves, in call order.
 */
export class RunState {
  #values = new Map<string, unknown>();
  /** Whether a view reads the values as they are: then they are not changed, but a copy. One copy a phase. */
  #isViewed = false;
  readonly #reducers = new Map<string, Reducer>();

  /** `given` stands in for the declared initial values. */
  constructor(declaration: StateDeclaration = {}, given: Record<string, unknown> = {}) {
    for (const [key, { initial, reduce }] of Object.entries(declaration)) {
      if (initial !== undefined) this.#values.set(key, copyIn(`state.${key}.initial`, initial));
      if (reduce !== undefined) this.#reducers.set(key, reduce);
    }
    for (const [key, value] of Object.entries(given)) this.#values.set(key, copyIn(`state.${key}`, value));
  }

  /** What a call of a phase that starts now may read and write; `live` says whether it still may. */
  view(live: () => boolean): { state: ToolState; delta: Delta } {
    const delta: Delta = new Map();
    this.#isViewed = true;
    return { state: new CallState(this.#values, delta, live), delta };
  }

  /**
   * Merges one call's delta, all of it or, when a reducer throws, nothing.
   *
   * @throws whatever the reducer throws.
   */
  merge(delta: Delta): void {
    if (delta.size === 0) return;
    const merged: [key: string, value: unknown][] = [];
    for (const [key, value] of delta) {
      const reduce = value === GONE ? undefined : this.#reducers.get(key);
      merged.push([key, reduce === undefined ? value : this.#combine(key, reduce, value)]);
    }
    // Views of this phase keep reading the state as it was at its start.
    if (this.#isViewed) this.#values = new Map(this.#values);
    this.#isViewed = false;
    for (const [key, value] of merged) {
      if (value === GONE) this.#values.delete(key);
      else this.#values.set(key, value);
    }
  }

  /** Merges what a journal kept of a call's delta. */
  replay(recorded: RecordedDelta): void {
    this.merge(new Map(recorded.map((write) => [write.key, "gone" in write ? GONE : write.value])));
  }

  #combine(key: string, reduce: Reducer, value: unknown): unknown {
    const reduced = reduce(copyJson(this.#values.get(key)), copyJson(value));
    hush(reduced);
    return copyIn(`state.${key}`, reduced);
  }

  /** The state as a plain object of its own. */
  toJSON(): Record<string, unknown> {
    return asObject(this.#values);
  }
}

class CallState implements ToolState {
  readonly #base: ReadonlyMap<string, unknown>;
  readonly #delta: Delta;
  readonly #live: () => boolean;

  constructor(base: ReadonlyMap<string, unknown>, delta: Delta, live: () => boolean) {
    this.#base = base;
    this.#delta = delta;
    this.#live = live;
  }

  get(key: string): unknown {
    const written = this.#delta.get(key);
    if (written === GONE) return undefined;
    return copyJson(written === undefined ? this.#base.get(key) : written);
  }

  set(key: string, value: unknown): void {
    if (!this.#live()) return;
    if (typeof key !== "string") throw new ConfigurationError("ctx.state.set: expected a string as key");
    const copy = copyIn(`state.${key}`, value);
    // Reading the value may run code of its own, and that may end the call.
    if (this.#live()) this.#delta.set(key, copy);
  }

  has(key: string): boolean {
    const written = this.#delta.get(key);
    return written === undefined ? this.#base.has(key) : written !== GONE;
  }

  delete(key: string): boolean {
    const had = this.has(key);
    if (this.#live()) this.#delta.set(key, GONE);
    return had;
  }

  toJSON(): Record<string, unknown> {
    const merged = new Map(this.#base);
    for (const [key, value] of this.#delta) {
      if (value === GONE) merged.delete(key);
      else merged.set(key, value);
    }
    return asObject(merged);
  }
}

/** A plain-JSON copy; `undefined` becomes `null`, as in an array of JSON. */
function copyIn(path: string, value: unknown): unknown {
  try {
    return plainJson(value) ?? null;
  } catch (error) {
    throw new ConfigurationError(
      `${path}: expected plain JSON; ${isInstance(error, Error) ? error.message : "it cannot be read"}`,
      {
        cause: error,
      },
    );
  }
}

function asObject(values: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [key, value] of values) {
    // A key named __proto__ is data, never a prototype.
    Object.defineProperty(object, key, {
      value: copyJson(value),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return object;
}
