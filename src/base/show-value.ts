const LONGEST = 120;

/**
 * A short, safe text for "what came" in an error message. Never throws, runs no getter and calls no `toString`
 * of a hostile value, and is at most about 120 characters.
 */
export function showValue(value: unknown): string {
  switch (typeof value) {
    case "string":
      return cut(JSON.stringify(value));
    case "bigint":
      return cut(`${value}n`);
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "boolean":
    case "undefined":
      return String(value);
    case "symbol":
      return "a symbol";
    case "function":
      return "a function";
    default:
      return value === null ? "null" : showObject(value as object);
  }
}

function showObject(value: object): string {
  try {
    if (Array.isArray(value)) return `an array of ${value.length}`;
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== null && prototype !== Object.prototype) {
      const maker = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value as unknown;
      if (typeof maker === "function" && maker.name !== "") return cut(`an instance of ${maker.name}`);
    }
    const keys = Object.keys(value);
    return cut(
      keys.length === 0 ? "an empty object" : `an object with ${keys.map((key) => JSON.stringify(key)).join(", ")}`,
    );
  } catch {
    return "an object that cannot be looked at";
  }
}

function cut(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`;
}
