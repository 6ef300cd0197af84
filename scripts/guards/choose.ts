import { spawnSync } from "node:child_process";

/** A seed that changes with each commit: the head of its hash; 1 where there is no repository. */
export function seedOfHead(root: string): number {
  const run = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" });
  return run.status === 0 ? Number.parseInt(run.stdout.slice(0, 8), 16) : 1;
}

/** `count` of the items, or all when there are fewer; the same for the same seed and items. */
export function choose<T>(items: readonly T[], count: number, seed: number): T[] {
  const random = numbersFrom(seed);
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ item }) => item);
}

/** Numbers in [0, 1) from a 32-bit seed (splitmix32). */
function numbersFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}
