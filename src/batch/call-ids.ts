import { wellFormed } from "../base/well-formed.ts";

/** What stands for a call in the transcript: ids that vendors accept are letters, digits, `_` and `-`. */
interface Identified {
  readonly id: unknown;
}

/**
 * The id of each call, in call order (`Semantics 2.5`).
 *
 * The first use of an id is never changed. A later use, in this batch or of one in `seen`, gets the first free suffix
 * `_2`, `_3`, …; a missing id becomes `call_<turn>_<position>`. The same inputs give the same ids. Adds them to `seen`.
 * `suffixes` keeps the count of each id from one batch to the next.
 */
export function assignCallIds(
  calls: readonly Identified[],
  turn: number,
  seen: Set<string>,
  suffixes: Map<string, number> = new Map(),
): string[] {
  // Every id that stands in the batch is spoken for, so that no suffix takes a later call's own.
  const taken = new Set<string>();
  for (const { id } of calls) if (isId(id)) taken.add(id);
  return calls.map(({ id }, position) => {
    if (isId(id) && !seen.has(id)) {
      seen.add(id);
      return id;
    }
    const stem = isId(id) ? id : `call_${turn}_${position}`;
    let given = stem;
    // Counting on from the last suffix keeps calls of one id linear.
    let suffix = suffixes.get(stem) ?? 2;
    while (seen.has(given) || taken.has(given)) given = `${stem}_${suffix++}`;
    suffixes.set(stem, suffix);
    seen.add(given);
    return given;
  });
}

/** Whether it can stand for a call as it is. */
export function isId(id: unknown): id is string {
  // Half a character is no text that a vendor takes back.
  return typeof id === "string" && id.trim() !== "" && wellFormed(id) === id;
}
