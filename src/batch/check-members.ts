import { refuse } from "../base/option-checks.ts";

/** Refuses what is no object with these functions: a clock, ids, whatever is injected. */
export function checkMembers(path: string, value: unknown, functions: readonly string[]): void {
  const members = value as Record<string, unknown> | null;
  const isWhole =
    typeof value === "object" && members !== null && functions.every((name) => typeof members[name] === "function");
  if (!isWhole) refuse(path, `an object with ${functions.join(", ")}`, value);
}
