import { cpSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Break } from "./break-file.ts";
import { gitApply } from "./git-apply.ts";

/** What a copy does without: it is made, fetched or kept elsewhere. */
const LEFT_OUT: readonly string[] = ["node_modules", ".git", "dist", "coverage"];

/** A copy of the project in a temporary folder, where source may be broken while others work on the original. */
export class TreeCopy {
  /** The copy's root, without symbolic links. */
  readonly root: string;
  readonly #original: string;

  constructor(original: string) {
    this.#original = original;
    this.root = realpathSync(mkdtempSync(join(tmpdir(), "lanekeeper-breaks-")));
    for (const name of readdirSync(original)) {
      if (!LEFT_OUT.includes(name)) cpSync(join(original, name), join(this.root, name), { recursive: true });
    }
    symlinkSync(realpathSync(join(original, "node_modules")), join(this.root, "node_modules"), "dir");
  }

  /** Puts a break into the copy. Gives what `git` said when it does not apply; the copy is then as it was. */
  apply(one: Break): string | undefined {
    return gitApply(this.root, one.diff);
  }

  /** Takes a break out again, by bringing back the files that it changed. */
  restore(one: Break): void {
    for (const target of one.targets) cpSync(join(this.#original, target), join(this.root, target));
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
