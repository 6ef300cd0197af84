/** Names that nothing has, so that only what answers every name answers them. */
const NOBODY: readonly PropertyKey[] = [Symbol("a property nobody has"), "\0a property nobody has"];

/**
 * Whether `value` gives something for properties that nobody has: a mock or a remote stub that is a `Proxy`. Its
 * `then` or `toJSON` means nothing. One that throws at strange names is no such proxy. Never throws.
 */
export function answersEverything(value: object): boolean {
  return NOBODY.some((key) => {
    try {
      return (value as Record<PropertyKey, unknown>)[key] !== undefined;
    } catch {
      return false;
    }
  });
}
