/** A recorded break: a small fault put into the source, and the test that must notice it. */
export interface Break {
  /** The patch, from the root of the project: `breaks/4.5-idle-place.patch`. */
  readonly file: string;
  /** The rule whose promise it breaks. */
  readonly rule: string;
  /** The test file that must turn red. */
  readonly test: string;
  /** The source files that it changes. */
  readonly targets: readonly string[];
  /** The unified diff without the headers. */
  readonly diff: string;
}

/** Reads a patch file; gives a text instead when it is not a break, saying what is missing. */
export function readBreak(file: string, text: string): Break | string {
  const start = /^(?:diff |--- )/m.exec(text)?.index;
  if (start === undefined) return `${file}: expected a unified diff after the headers, found none`;
  const headers = text.slice(0, start);
  const diff = text.slice(start);
  const rule = /^Rule:[ \t]*(\S.*?)[ \t]*$/m.exec(headers)?.[1];
  if (rule === undefined) return `${file}: expected a header line "Rule: <number>", found none`;
  const test = /^Test:[ \t]*(\S.*?)[ \t]*$/m.exec(headers)?.[1];
  if (test === undefined) return `${file}: expected a header line "Test: <test file>", found none`;
  const targets = [...new Set([...diff.matchAll(/^\+\+\+ b\/(\S+)/gm)].map((match) => match[1] ?? ""))];
  if (targets.length === 0) return `${file}: expected lines "--- a/<file>" and "+++ b/<file>", found none`;
  const outside = targets.find((target) => !target.startsWith("src/") || target.split("/").includes(".."));
  if (outside !== undefined) return `${file}: expected to change files under src/ only, changes ${outside}`;
  const name = file.split("/").at(-1) ?? "";
  if (!name.startsWith(`${rule}-`)) return `${file}: expected a name that begins with "${rule}-", as its rule says`;
  return { file, rule, test, targets, diff: diff.endsWith("\n") ? diff : `${diff}\n` };
}

/** The text of a patch file. */
export function writeBreak(rule: string, test: string, diff: string): string {
  return `Rule: ${rule}\nTest: ${test}\n${diff}`;
}
