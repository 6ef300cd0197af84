import { isInstance } from "./is-instance.ts";

/** Hears a promise that somebody's code gave where none was asked for: what it rejects with is nobody's. */
export function hush(given: unknown): void {
  if (isInstance(given, Promise)) given.catch(() => {});
}

/**
 * A promise for what somebody's code gave: a value, a promise, or a thenable, which is asked once and whose own mistakes are
 * heard.
 */
export function adopt<T>(given: T | PromiseLike<T>): Promise<T> {
  if (isInstance(given, Promise)) return given as Promise<T>;
  return new Promise<T>((resolve, reject) => {
    const then = isObject(given) ? (given as Partial<PromiseLike<T>>).then : undefined;
    if (typeof then === "function") hush(then.call(given, resolve, reject));
    else resolve(given as T);
  });
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
