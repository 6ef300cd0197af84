const NAME = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const LONGEST = 200;

/** A place in a value as a person writes it: `stops[0].city`, `headers["x-id"]`; empty for the value itself. */
export function valuePath(steps: readonly PropertyKey[]): string {
  let path = "";
  for (const step of steps) {
    if (typeof step === "string" && NAME.test(step)) path += path === "" ? step : `.${step}`;
    else path += typeof step === "string" ? `[${JSON.stringify(step)}]` : `[${String(step)}]`;
    if (path.length > LONGEST) return `${path.slice(0, LONGEST)}…`;
  }
  return path;
}
