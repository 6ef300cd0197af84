import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Break, readBreak, writeBreak } from "./break-file.ts";

/** What a new break is made from. */
export interface NewBreak {
  readonly rule: string;
  readonly test: string;
  /** The source file to break. */
  readonly file: string;
  /** Text that stands in it exactly once. */
  readonly find: string;
  /** What to put there instead; empty takes it away, and the line too when nothing is left on it. */
  readonly replace: string;
  /** A few words for the file's name. */
  readonly slug: string;
}

const CONTEXT_LINES = 3;

/** Makes a break from the source as it stands at `root`. Gives its path, its text and what it reads as. */
export function makeBreak(root: string, wanted: NewBreak): { file: string; text: string; one: Break } {
  if (!/^[a-z0-9][a-z0-9-]*$/.test(wanted.slug)) {
    throw new Error(`--slug: expected lower-case words joined by "-", got ${JSON.stringify(wanted.slug)}`);
  }
  const source = readFileSync(join(root, wanted.file), "utf8");
  const at = source.indexOf(wanted.find);
  if (wanted.find === "" || at < 0)
    throw new Error(`--find: expected text of ${wanted.file}, got ${JSON.stringify(wanted.find)}`);
  if (source.indexOf(wanted.find, at + 1) >= 0) {
    throw new Error(`--find: expected text that stands once in ${wanted.file}; this stands there several times`);
  }
  if (wanted.find === wanted.replace) throw new Error("--replace: expected another text than --find");
  const text = writeBreak(wanted.rule, wanted.test, diffOf(wanted.file, source, at, wanted));
  const file = `breaks/${wanted.rule}-${wanted.slug}.patch`;
  const one = readBreak(file, text);
  if (typeof one === "string") throw new Error(one);
  return { file, text, one };
}

/** The unified diff of one replacement, in whole lines. */
function diffOf(file: string, source: string, at: number, { find, replace }: NewBreak): string {
  const lines = source.split("\n");
  const first = source.slice(0, at).split("\n").length - 1;
  const last = first + find.split("\n").length - 1;
  const removed = lines.slice(first, last + 1);
  const offset = at - (source.lastIndexOf("\n", at - 1) + 1);
  const joined = removed.join("\n");
  const changed = joined.slice(0, offset) + replace + joined.slice(offset + find.length);
  const added = changed.trim() === "" ? [] : changed.split("\n");
  const before = lines.slice(Math.max(0, first - CONTEXT_LINES), first);
  // A file ends in a line break, so the last piece of the split is no line.
  const after = lines.slice(last + 1, Math.min(lines.length - 1, last + 1 + CONTEXT_LINES));
  const start = first - before.length + 1;
  const around = before.length + after.length;
  return [
    `--- a/${file}`,
    `+++ b/${file}`,
    `@@ -${start},${around + removed.length} +${start},${around + added.length} @@`,
    ...before.map((line) => ` ${line}`),
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
    ...after.map((line) => ` ${line}`),
    "",
  ].join("\n");
}
