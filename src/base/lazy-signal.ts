/** Where an object keeps what makes its signal. Functions only: whoever finds one gets the signal, and nothing else. */
const MAKE = Symbol("makeSignal");

interface WithMaker {
  readonly [MAKE]: () => AbortSignal;
}

/**
 * One pair of functions for every object. A pair of its own would give each object a shape of its own, and engines keep
 * shapes, and what they lead to, much longer than objects.
 */
const LAZY: PropertyDescriptor & ThisType<WithMaker> = {
  get() {
    return this[MAKE]();
  },
  set(value: unknown) {
    Object.defineProperty(this, "signal", { value, enumerable: true, writable: true, configurable: true });
  },
  enumerable: true,
  configurable: true,
};

/**
 * Gives an object its `signal`, made by `make` whenever it is read: most code that is handed one never looks at it, and a
 * signal costs more than all the rest. For whoever uses it it is like any other property: it can be copied, taken apart,
 * written to, inherited and read through a proxy.
 */
export function lendSignal<T extends object>(object: T, make: () => AbortSignal): T & { signal: AbortSignal } {
  Object.defineProperty(object, MAKE, { value: make });
  return Object.defineProperty(object, "signal", LAZY) as T & { signal: AbortSignal };
}
