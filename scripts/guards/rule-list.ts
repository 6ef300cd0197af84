/** One numbered rule of the semantics with its one-line title. */
export interface Rule {
  /** `"4.5"`, or `"6"` for a section that is one rule. */
  readonly number: string;
  readonly title: string;
}

/** Where the rules stand, from the root of the project. */
export const RULES_PAGE = "docs/rules.md";

/** Sections whose every rule needs a test and a break. */
const DEMANDED_SECTIONS: readonly string[] = ["2", "3", "4", "5", "6", "7", "8"];

/** Reads the rules from the tables of a page: each row that begins with a number is one. */
export function readRules(page: string): Rule[] {
  return [...page.matchAll(/^\|\s*(\d+(?:\.\d+)?)\s*\|\s*(.+?)\s*\|\s*$/gm)].map((row) => ({
    number: row[1] ?? "",
    title: row[2] ?? "",
  }));
}

/** Whether a rule needs a test and a break. The others may be cited. */
export function isDemanded(rule: Rule): boolean {
  return DEMANDED_SECTIONS.includes(rule.number.split(".")[0] ?? "");
}
