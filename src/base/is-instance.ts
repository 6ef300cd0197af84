/** No class has so many above it: what goes on longer has prototypes without end. */
const DEEPEST = 100;

/**
 * `value instanceof Class` for values of others: what throws when it is asked what it is, or has prototypes without end, is
 * none.
 */
// biome-ignore lint/suspicious/noExplicitAny: constructors of any arguments.
export function isInstance<T>(value: unknown, Class: abstract new (...args: any[]) => T): value is T {
  if (typeof value !== "object" || value === null) return false;
  try {
    let above: unknown = Object.getPrototypeOf(value);
    for (let depth = 0; above !== null && depth < DEEPEST; depth++) {
      if (above === Class.prototype) return true;
      above = Object.getPrototypeOf(above);
    }
  } catch {
    // It is what it will not say.
  }
  return false;
}
