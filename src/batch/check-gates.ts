import { checkFunction, refuse } from "../base/option-checks.ts";
import type { Approver, Guardrail, Hook } from "../protocol/gate.ts";

/** The gates as options give them. */
export interface GateOptions {
  approver?: Approver | undefined;
  guardrails?: readonly Guardrail[] | undefined;
  hooks?: readonly Hook[] | undefined;
}

/** The gates of a run, checked. */
export interface CheckedGates {
  readonly approver: Approver | undefined;
  readonly guardrails: readonly Guardrail[];
  readonly hooks: readonly Hook[];
}

/** @throws ConfigurationError (`CONFIGURATION`) for what is no gate, and for one that has neither of its functions. */
export function checkGates(path: string, { approver, guardrails = [], hooks = [] }: GateOptions): CheckedGates {
  checkFunction(`${path}.approver`, approver);
  checkList(`${path}.guardrails`, guardrails, ["before", "after"]);
  checkList(`${path}.hooks`, hooks, ["beforeTool", "afterTool"]);
  return { approver, guardrails: [...guardrails], hooks: [...hooks] };
}

function checkList(path: string, gates: unknown, functions: readonly string[]): void {
  if (!Array.isArray(gates)) refuse(path, "an array", gates);
  gates.forEach((gate: unknown, at) => {
    const where = `${path}[${at}]`;
    if (typeof gate !== "object" || gate === null) refuse(where, `{ name, ${functions.join(", ")} }`, gate);
    const members = gate as Record<string, unknown>;
    if (typeof members.name !== "string") refuse(`${where}.name`, "a text", members.name);
    for (const name of functions) checkFunction(`${where}.${name}`, members[name]);
    if (functions.every((name) => members[name] === undefined)) {
      refuse(where, `at least one of ${functions.join(", ")}`, gate);
    }
  });
}
