import type { SimulationPlan } from "./simulation-plan.ts";

const WIDTH = 100;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** A program that plays a plan, to be pasted. */
export function planScript(plan: SimulationPlan): string {
  return `import { simulate } from "lanekeeper/testing";\n\nawait simulate({ plan: ${written(plan, "")} });`;
}

/** A value as one would write it: in one line where it fits. Functions, which only users have in a plan, as they are. */
function written(value: unknown, indent: string): string {
  if (typeof value === "function") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const members = Object.entries(value).map(([key, member]) => {
    const name = isList ? "" : `${IDENTIFIER.test(key) ? key : JSON.stringify(key)}: `;
    return `${name}${written(member, inner)}`;
  });
  const [open, close] = isList ? "[]" : "{}";
  if (members.length === 0) return `${open}${close}`;
  const space = isList ? "" : " ";
  const line = `${open}${space}${members.join(", ")}${space}${close}`;
  if (indent.length + line.length <= WIDTH && !line.includes("\n")) return line;
  return `${open}\n${members.map((member) => `${inner}${member},\n`).join("")}${indent}${close}`;
}
