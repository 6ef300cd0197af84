import { checkFunction, checkList, refuse } from "../base/option-checks.ts";
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
  return {
    approver,
    guardrails: checkEach(`${path}.guardrails`, guardrails, ["before", "after"]),
    hooks: checkEach(`${path}.hooks`, hooks, ["beforeTool", "afterTool"]),
  };
}

function checkEach<Gate>(path: string, gates: readonly Gate[], functions: readonly string[]): Gate[] {
  const each = checkList(path, "an array", gates) as Gate[];
  each.forEach((gate, at) => {
    const where = `${path}[${at}]`;
    if (typeof gate !== "object" || gate === null) refuse(where, `{ name, ${functions.join(", ")} }`, gate);
    const members = gate as Record<string, unknown>;
    if (typeof members.name !== "string") refuse(`${where}.name`, "a text", members.name);
    for (const name of functions) checkFunction(`${where}.${name}`, members[name]);
    if (functions.every((name) => members[name] === undefined)) {
      refuse(where, `at least one of ${functions.join(", ")}`, gate);
    }
  });
  return each;
}
