import { isPlainObject } from "./plain-json.ts";

/** A deep copy that cannot be changed. Bytes are copied but stay writable; what is not plain data stays itself. */
export function frozenCopy<T>(value: T): T {
  return copy(value, new Map()) as T;
}

function copy(value: unknown, copies: Map<object, unknown>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (value instanceof Uint8Array) return value.slice();
  if (!Array.isArray(value) && !isPlainObject(value)) return value;
  const made: Record<string, unknown> = Array.isArray(value)
    ? ([] as never)
    : Object.create(Object.getPrototypeOf(value));
  copies.set(value, made);
  for (const key of Object.keys(value)) {
    // Defined, not assigned: a key may be `__proto__`.
    const member = copy((value as Record<string, unknown>)[key], copies);
    Object.defineProperty(made, key, { value: member, enumerable: true, writable: true, configurable: true });
  }
  return Object.freeze(made);
}
