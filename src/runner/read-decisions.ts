import { ConfigurationError } from "../base/errors.ts";
import { checkOptions, readable, refuse } from "../base/option-checks.ts";
import { plainJson } from "../base/plain-json.ts";
import type { Decision } from "../protocol/gate.ts";

/**
 * Decisions of our own, in plain JSON: read once, whatever the objects do when they are read again (`Semantics 2.12`).
 *
 * @throws ConfigurationError (`CONFIGURATION`) for what is no decision.
 */
export function readDecisions(decisions: unknown): Record<string, Decision> {
  if (typeof decisions !== "object" || decisions === null || Array.isArray(decisions)) {
    refuse("resume.decisions", "an object of decisions by the id of a pending call", decisions);
  }
  const read = ([id, said]: [string, unknown]): [string, Decision] => {
    const at = decisionPath(id);
    return [id, readable(at, () => readDecision(at, said))];
  };
  return Object.fromEntries(Object.entries(decisions).map(read));
}

/** Where a decision stands among the options of a resume. */
export function decisionPath(id: string): string {
  return `resume.decisions[${JSON.stringify(id)}]`;
}

const DECISION = "{ approve: true, args? }, { approve: false, reason? }, { result } or { suspend: true }";

function readDecision(at: string, said: unknown): Decision {
  if (typeof said !== "object" || said === null) refuse(at, DECISION, said);
  const { ...given } = checkOptions(at, said, ["approve", "args", "reason", "result", "suspend"]);
  const says = ["approve", "result", "suspend"].filter((key) => key in given);
  const isOne =
    says.length === 1 && ("result" in given || given.suspend === true || typeof given.approve === "boolean");
  if (!isOne) refuse(at, DECISION, said);
  if (given.reason !== undefined && typeof given.reason !== "string") refuse(`${at}.reason`, "a text", given.reason);
  // What a body returns when it returns nothing (`Semantics 2.6`).
  if ("result" in given && given.result === undefined) given.result = "";
  const kept = Object.entries(given).map(([key, value]) => [key, readJson(`${at}.${key}`, value)] as const);
  return Object.fromEntries(kept.filter(([, value]) => value !== undefined)) as unknown as Decision;
}

function readJson(at: string, value: unknown): unknown {
  try {
    return plainJson(value);
  } catch (cause) {
    throw new ConfigurationError(`${at}: expected plain JSON; ${(cause as Error).message}`, { cause });
  }
}
