/**
 * JSON text in which key order has no meaning and array order has: two equal values give equal text (`Semantics 5.3`).
 * Takes plain JSON only; what JSON leaves out (undefined members) is left out here too.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : member,
  );
}
