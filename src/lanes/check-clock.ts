import type { Clock } from "../base/clock.ts";
import { refuse } from "../base/option-checks.ts";

const MEMBERS = ["now", "monotonic", "setTimer"] as const satisfies readonly (keyof Clock)[];

/** A clock, or `undefined` when it may be left out. */
export function checkClock(path: string, value: unknown): Clock | undefined {
  if (value === undefined) return undefined;
  const isClock =
    typeof value === "object" &&
    value !== null &&
    MEMBERS.every((name) => typeof (value as Clock)[name] === "function");
  if (!isClock) refuse(path, `an object with ${MEMBERS.join(", ")}`, value);
  return value as Clock;
}
