/**
 * Small worlds of batches, as text and enumerated.
 *
 * A call is a letter: `s` is a leaf that is parallel-safe, `x` one that is not. What runs an agent below it has that
 * agent's calls in brackets: `a(…)` is an `agentTool`, `b(…)` a body that uses `ctx.run`; `A(…)` and `B(…)` are the same
 * and not parallel-safe. A `+` behind any of them says that it is idempotent. `"s+ A(sx) b(x+)"` is a batch of three.
 */
import type { OnToolError } from "lanekeeper";
import { seededRandom } from "lanekeeper/testing";

/** One call of a world. */
export interface CallSpec {
  /** Its place: `"1"`, and `"1.0"` for the first call of the run that is nested in it. */
  readonly key: string;
  readonly kind: "leaf" | "agent" | "body";
  readonly isSafe: boolean;
  readonly isIdempotent: boolean;
  /** What the run nested in it asks for. */
  readonly below: readonly CallSpec[];
}

/** The one lane that is bounded, by 1: a turn's, the tenant's, the resource of all leaves; or none. */
export type Bounds = "loose" | "turn" | "tenant" | "resource";

/** `held`: eager, and the model goes on streaming only when it is told to. */
export type Dispatch = "after_gates" | "eager" | "held";

/** What befalls a world once, at any point: a failure falls when its body ends. */
export type Disturbance =
  | { readonly kind: "none" | "cancel" | "runSeconds" | "toolCallSeconds" }
  | { readonly kind: "ceiling" | "throw"; readonly of: string; readonly policy: OnToolError };

export interface World {
  readonly calls: readonly CallSpec[];
  readonly bounds: Bounds;
  readonly dispatch: Dispatch;
  readonly disturbance: Disturbance;
  /** Whether leaves listen to their signal; `mixed`: every other one does. */
  readonly ears: "all" | "none" | "mixed";
}

/** A world in one line, to find it again. */
export function nameOf({ calls, bounds, dispatch, disturbance, ears }: World): string {
  const fall = Object.values(disturbance).join(" ");
  return `${calls.map(letterOf).join(" ")} | ${bounds} | ${dispatch} | ${fall} | ${ears} listen`;
}

function letterOf({ kind, isSafe, isIdempotent, below }: CallSpec): string {
  const letter = kind === "leaf" ? (isSafe ? "s" : "x") : isSafe ? kind.charAt(0) : kind.charAt(0).toUpperCase();
  const inside = below.length === 0 ? "" : `(${below.map(letterOf).join("")})`;
  return `${letter}${inside}${isIdempotent ? "+" : ""}`;
}

/** Reads `"s x+ A(sx)"`. */
function readBatch(text: string): CallSpec[] {
  return text.split(" ").map((word, at) => readCalls(word, `${at}`)[0] as CallSpec);
}

/** Reads `"sx+"`; with one call expected, `at` is its key, else what stands before theirs. */
function readCalls(text: string, at: string, isBelow = false): CallSpec[] {
  return Array.from(text.matchAll(/([sxabAB])(?:\(([^)]*)\))?(\+?)/g), ([, letter = "", inside = "", plus], place) => {
    const key = isBelow ? `${at}.${place}` : at;
    const lower = letter.toLowerCase();
    return {
      key,
      kind: lower === "a" ? "agent" : lower === "b" ? "body" : "leaf",
      isSafe: letter === lower && letter !== "x",
      isIdempotent: plus === "+",
      below: readCalls(inside, key, true),
    };
  });
}

/** All calls of a tree, callers before what is nested in them. */
export function everyCall(calls: readonly CallSpec[]): CallSpec[] {
  return calls.flatMap((call) => [call, ...everyCall(call.below)]);
}

/** Every batch of `length` letters. */
function batchesOf(length: number, letters: readonly string[]): string[] {
  if (length === 0) return [""];
  return batchesOf(length - 1, letters).flatMap((batch) => letters.map((letter) => `${batch} ${letter}`.trim()));
}

/** Every batch of `from` to `to` letters. */
export function batchesUpTo(to: number, letters: readonly string[], from = 1): string[] {
  return Array.from({ length: to - from + 1 }, (_, more) => batchesOf(from + more, letters)).flat();
}

export const LEAVES: readonly string[] = ["s", "x"];
/** What a nested run asks for. */
const BELOW = ["s", "x", "ss", "sx", "xs", "xx"];
/** Every call that runs an agent. */
export const CALLERS: readonly string[] = ["a", "A", "b", "B"].flatMap((letter) =>
  BELOW.map((below) => `${letter}(${below})`),
);
/** Most of them. */
export const LONE: readonly string[] = [...BELOW.map((below) => `a(${below})`), "A(x)", "A(sx)", "b(ss)", "B(xs)"];
/** A few, for batches of several calls. */
export const FEW: readonly string[] = [...LEAVES, "a(s)", "a(x)", "A(x)", "b(sx)"];

/** Those of some batches in which a call runs an agent. */
export function withRunsBelow(batches: readonly string[]): string[] {
  return batches.filter((batch) => batch.includes("("));
}

/** What is varied over each of some batches. */
export interface Variety {
  readonly batches: readonly string[];
  readonly bounds: readonly Bounds[];
  readonly dispatch: readonly Dispatch[];
  readonly disturbances: readonly Disturbance["kind"][];
  readonly policies: readonly OnToolError[];
  readonly ears: readonly World["ears"][];
}

/** All that can be varied. */
export const EVERYTHING: Omit<Variety, "batches"> = {
  bounds: ["loose", "turn", "tenant", "resource"],
  dispatch: ["after_gates", "eager", "held"],
  disturbances: ["none", "cancel", "runSeconds", "toolCallSeconds", "ceiling", "throw"],
  policies: ["surface_to_model", "fail_run"],
  ears: ["all", "none", "mixed"],
};

/** What most sets vary: calls go out when all gates have passed, and everybody listens or nobody does. */
export const AFTER_GATES: Omit<Variety, "batches"> = {
  ...EVERYTHING,
  dispatch: ["after_gates"],
  ears: ["all", "none"],
};

/**
 * The worlds of these batches, those left out that can show nothing new:
 *
 * - Where no signal can abort (nothing falls, or a failure that only the model sees) nobody's ears matter.
 * - Idempotence is told of a call that was cut off, in its own verdict and nowhere else (7.3, 8), and lets it go out before
 *   the response is complete (3.10). So elsewhere one declaration does, and there two in which each call is it once, with
 *   neighbours that differ: no rule speaks of two calls' idempotence at once.
 * - Names and arguments are no part of any rule for one batch but 5.3, and there no two bodies meet that 5.2 keeps apart.
 */
export function* worldsOf(variety: Variety): Generator<World> {
  for (const batch of variety.batches) yield* worldsOfBatch(batch, variety);
}

/** So many of these worlds, drawn by chance: first a batch, then one of its worlds. */
export function* someOf(variety: Variety, count: number, seed: number): Generator<World> {
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  for (let drawn = 0; drawn < count; drawn += 1) yield pick([...worldsOfBatch(pick(variety.batches), variety)]);
}

function* worldsOfBatch(batch: string, variety: Variety): Generator<World> {
  const specs = everyCall(readBatch(batch));
  const falls = variety.disturbances.flatMap((kind) => disturbancesOf(kind, specs, variety.policies));
  for (const disturbance of falls) {
    const { kind } = disturbance;
    const isHeard = kind !== "none" && !(kind === "throw" && disturbance.policy === "surface_to_model");
    for (const bounds of variety.bounds) {
      for (const dispatch of variety.dispatch) {
        // In a held stream a nested run's tool phase may begin before its caller's: at one due time both would fall.
        if (kind === "toolCallSeconds" && dispatch === "held") continue;
        const declarations = isHeard || dispatch === "held" ? twoDeclarations(batch) : [batch];
        // What is idempotent throughout goes out early throughout.
        if (dispatch === "held") declarations.push(declared(batch, () => true));
        for (const declared of declarations) {
          for (const ears of isHeard ? variety.ears : (["all"] as const)) {
            yield { calls: readBatch(declared), bounds, dispatch, disturbance, ears };
          }
        }
      }
    }
  }
}

function disturbancesOf(
  kind: Disturbance["kind"],
  specs: readonly CallSpec[],
  policies: readonly OnToolError[],
): Disturbance[] {
  if (kind !== "ceiling" && kind !== "throw") return [{ kind }];
  // An `agentTool` has no body of its own that could fail.
  const able = specs.filter((spec) => kind === "ceiling" || spec.kind !== "agent");
  return able.flatMap(({ key }) => policies.map((policy) => ({ kind, of: key, policy })));
}

/** Two declarations in which each call is idempotent once, and neighbours differ. */
function twoDeclarations(batch: string): string[] {
  return [0, 1].map((odd) => declared(batch, (place) => place % 2 === odd));
}

/** The batch with those of its calls idempotent, callers counted before what is nested in them. */
function declared(batch: string, isIdempotent: (place: number) => boolean): string {
  let place = 0;
  const plus = (): string => (isIdempotent(place++) ? "+" : "");
  return batch.replaceAll(/[abAB]\([sx]*\)|[sx]/g, (call) => {
    const own = plus();
    return `${call.replaceAll(/(?<=[(sx])[sx]/g, (leaf) => `${leaf}${plus()}`)}${own}`;
  });
}
