/**
 * `npm run rules`: prints each numbered rule with the tests and the breaks that guard it.
 *
 * Exits 1 when a demanded rule has no test or no break, when a break names a test that does not exist or does not
 * claim its rule, or when a break no longer applies to the source. `--json` prints the same as JSON.
 */
import { parseArgs } from "node:util";
import { type Audit, audit } from "./guards/audit.ts";
import { gitApply } from "./guards/git-apply.ts";
import { readProjectTree } from "./guards/project-tree.ts";

const { values } = parseArgs({ options: { json: { type: "boolean", default: false } } });
const tree = readProjectTree(process.cwd());
const found = audit(tree);
const stale = tree.breaks.flatMap((one) => {
  const said = gitApply(tree.root, one.diff, { check: true });
  return said === undefined ? [] : [`${one.file}: does not apply: ${said}`];
});
const report: Audit = { rules: found.rules, problems: [...found.problems, ...stale] };

if (values.json) console.log(JSON.stringify(report, undefined, 2));
else print(report);
process.exitCode = report.problems.length === 0 ? 0 : 1;

function print({ rules, problems }: Audit): void {
  for (const rule of rules) {
    if (!rule.demanded && rule.tests.length === 0 && rule.breaks.length === 0) continue;
    console.log(`${rule.rule}  ${rule.title}${rule.demanded ? "" : " (not demanded)"}`);
    for (const test of rule.tests) console.log(`      test   ${test}`);
    for (const file of rule.breaks) console.log(`      break  ${file}`);
  }
  const demanded = rules.filter((rule) => rule.demanded);
  const guarded = demanded.filter((rule) => rule.tests.length > 0 && rule.breaks.length > 0);
  console.log(`\n${guarded.length} of ${demanded.length} rules have a test and a break`);
  if (problems.length > 0)
    console.error(`\n${problems.length} to put right:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
}
