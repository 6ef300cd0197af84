import { showValue } from "../base/show-value.ts";

/** Deeper than any vendor takes, and far from the end of the stack. */
const DEEPEST = 500;
/** With the `u` flag a surrogate is matched only where it stands alone. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** What keeps `value` from being plain JSON in well-formed UTF-16, one line each; runs no code of the value. */
export function plainJsonProblems(path: string, value: unknown): string[] {
  const problems: string[] = [];
  look(path, value, [], problems);
  return problems;
}

function look(path: string, value: unknown, above: readonly object[], problems: string[]): void {
  if (typeof value === "string") {
    if (LONE_SURROGATE.test(value)) problems.push(`${path}: text with half of a surrogate pair`);
  } else if (typeof value === "object" && value !== null) {
    lookInside(path, value, above, problems);
  } else if (value !== null && typeof value !== "boolean" && !(typeof value === "number" && Number.isFinite(value))) {
    problems.push(`${path}: expected plain JSON, got ${showValue(value)}`);
  }
}

function lookInside(path: string, value: object, above: readonly object[], problems: string[]): void {
  if (above.includes(value)) {
    problems.push(`${path}: contains itself`);
  } else if (above.length >= DEEPEST) {
    problems.push(`${path}: nested more than ${DEEPEST} deep`);
  } else if (!Array.isArray(value) && !isPlainObject(value)) {
    problems.push(`${path}: expected plain JSON, got ${showValue(value)}`);
  } else {
    const inside = [...above, value];
    const keys = Array.isArray(value)
      ? Array.from({ length: value.length }, (_, index) => String(index))
      : Object.keys(value);
    for (const key of keys) {
      const at = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
      const member = Object.getOwnPropertyDescriptor(value, key);
      if (LONE_SURROGATE.test(key)) problems.push(`${path}: a key with half of a surrogate pair`);
      if (member !== undefined && !("value" in member)) problems.push(`${at}: expected a plain member, got a getter`);
      else look(at, member?.value, inside, problems);
    }
  }
}

/** An object made by `{}`, by `JSON.parse` or without a prototype, of whatever realm. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
