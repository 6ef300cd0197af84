import type { Break } from "./break-file.ts";
import type { ProjectTree } from "./project-tree.ts";
import { isDemanded } from "./rule-list.ts";

/** A rule with what guards it. */
export interface RuleReport {
  readonly rule: string;
  readonly title: string;
  /** Whether it needs a test and a break. */
  readonly demanded: boolean;
  readonly tests: readonly string[];
  readonly breaks: readonly string[];
}

/** Every rule with its guards, and what is wrong. */
export interface Audit {
  readonly rules: readonly RuleReport[];
  readonly problems: readonly string[];
}

/**
 * Joins rules, tests and breaks. Problems: a demanded rule without a test or without a break; a claim or a break of a
 * rule that does not exist; a break whose test does not exist or does not claim the rule.
 */
export function audit(tree: ProjectTree): Audit {
  const known = new Set(tree.rules.map((rule) => rule.number));
  const problems = [...tree.problems];
  for (const test of tree.tests) {
    for (const rule of test.rules) {
      if (!known.has(rule)) problems.push(`${test.file}: claims rule ${rule}, which does not exist`);
    }
  }
  problems.push(...tree.breaks.flatMap((one) => breakProblems(one, tree, known)));
  const rules = tree.rules.map((rule) => ({
    rule: rule.number,
    title: rule.title,
    demanded: isDemanded(rule),
    tests: tree.tests.filter((test) => test.rules.includes(rule.number)).map((test) => test.file),
    breaks: tree.breaks.filter((one) => one.rule === rule.number).map((one) => one.file),
  }));
  for (const rule of rules) {
    if (!rule.demanded) continue;
    if (rule.tests.length === 0) problems.push(`rule ${rule.rule} has no test`);
    if (rule.breaks.length === 0) problems.push(`rule ${rule.rule} has no break`);
  }
  return { rules, problems };
}

function breakProblems(one: Break, tree: ProjectTree, known: ReadonlySet<string>): string[] {
  if (!known.has(one.rule)) return [`${one.file}: breaks rule ${one.rule}, which does not exist`];
  const test = tree.tests.find((candidate) => candidate.file === one.test);
  if (test === undefined) return [`${one.file}: names the test ${one.test}, which does not exist`];
  if (!test.rules.includes(one.rule))
    return [`${one.file}: ${one.test} does not claim rule ${one.rule} in a top-level title`];
  return [];
}
