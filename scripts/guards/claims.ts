/** What a test file says it guards. */
export interface TestClaims {
  /** The file, from the root of the project, with forward slashes. */
  readonly file: string;
  /** Rule numbers named by its top-level titles, without repetition. */
  readonly rules: readonly string[];
  /** Titles that begin like a claim and cannot be read as one. */
  readonly problems: readonly string[];
}

/** A `describe` at the start of a line (so a top-level one), with its modifiers, up to a title that begins "Semantics". */
const CLAIMING_TITLE = /^describe(?:\.\w+(?:\([^)]*\))?)*\(\s*(["'`])(Semantics[^\n]*)/gm;

/**
 * Reads the rules that a test file guards from its top-level titles: `describe("Semantics 4.6, 4.7: …")`.
 * A title that begins with the word and has no list of numbers and a colon after it is a problem, not silence.
 */
export function readClaims(file: string, source: string): TestClaims {
  const rules = new Set<string>();
  const problems: string[] = [];
  for (const match of source.matchAll(CLAIMING_TITLE)) {
    const title = match[2] ?? "";
    const numbers = /^Semantics (\d+(?:\.\d+)?(?:, \d+(?:\.\d+)?)*): \S/.exec(title)?.[1];
    if (numbers === undefined) problems.push(`${file}: expected a title like "Semantics 4.6, 4.7: …", got ${title}`);
    else for (const number of numbers.split(", ")) rules.add(number);
  }
  return { file, rules: [...rules], problems };
}
