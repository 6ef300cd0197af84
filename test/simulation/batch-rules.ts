/**
 * What the rules of `Semantics` 2 to 8 demand of a small world, written down as plainly as they read.
 *
 * It is told what happens next and what the bodies saw, and says after each step who may be in flight, who must be, what
 * each call's verdict is and whether the run has settled. It knows no queues: whoever may start and has not is a fault.
 */
import { ABANDON_SECONDS, CEILING_SECONDS, DEADLINE_SECONDS, type Fact, type Move, type Play } from "./batch-play.ts";
import type { CallSpec } from "./batch-worlds.ts";

/** The one outcome of a call. */
export interface Verdict {
  readonly status: "ok" | "error" | "indeterminate" | "never_dispatched";
  readonly content: string;
  readonly mayHaveLanded: boolean;
  /** Ended from outside, in the middle of its body. */
  readonly wasCutOff: boolean;
}

/** Why a run stopped. */
interface Stop {
  readonly status: "failed" | "cancelled";
  readonly why: string;
  /** Its error's code. */
  readonly code: string;
  /** It came of a run below that ended: what could start between the one and the other may have started. */
  readonly isIndirect?: boolean;
}

/** What has become of a run so far: of the outermost, or of one nested in a call. */
export class RunFate {
  readonly caller: Fate | undefined;
  readonly calls: readonly Fate[];
  /** How many calls the model has asked for. */
  asked: number;
  /** Whether its response is complete. */
  isWhole: boolean;
  stop: Stop | undefined;

  constructor(specs: readonly CallSpec[], caller: Fate | undefined, isHeld: boolean) {
    this.caller = caller;
    this.asked = isHeld ? 0 : specs.length;
    this.isWhole = !isHeld;
    this.calls = specs.map((spec) => new Fate(spec, this));
  }

  get isOver(): boolean {
    return this.stop !== undefined || (this.isWhole && this.calls.every(({ verdict }) => verdict !== undefined));
  }

  /** Whether its response and those of all runs above it are complete. */
  get isWholeAbove(): boolean {
    return this.isWhole && this.caller?.within.isWholeAbove !== false;
  }

  get status(): "completed" | "failed" | "cancelled" {
    return this.stop?.status ?? "completed";
  }
}

/** What has become of a call so far. */
export class Fate {
  readonly spec: CallSpec;
  readonly within: RunFate;
  /** The run below it, once its body has started that. */
  readonly below: RunFate | undefined;
  hasStarted = false;
  /** Its own body has returned or thrown. */
  hasEnded = false;
  wasAbandoned = false;
  verdict: Verdict | undefined;
  /** When patience with its body ends, once it has outlived its verdict. */
  dueAt: number | undefined;
  overdue: "tool_abandoned" | "tool_overdue" | undefined;

  constructor(spec: CallSpec, within: RunFate) {
    this.spec = spec;
    this.within = within;
    this.below = spec.below.length === 0 ? undefined : new RunFate(spec.below, this, false);
  }

  get isAsked(): boolean {
    const { calls, asked, caller } = this.within;
    return calls.indexOf(this) < asked && (caller === undefined || caller.hasStarted);
  }

  get isInFlight(): boolean {
    return this.hasStarted && this.verdict === undefined;
  }

  /** A body has ended when it and every nested call it started have ended or were abandoned (4.8). */
  get isGone(): boolean {
    return this.wasAbandoned || (this.hasEnded && this.below?.calls.every((call) => call.holdsNothing) !== false);
  }

  get holdsNothing(): boolean {
    return !this.hasStarted || this.isGone;
  }

  isBelow(other: Fate): boolean {
    const { caller } = this.within;
    return caller !== undefined && (caller === other || caller.isBelow(other));
  }
}

export class Rules {
  readonly root: RunFate;
  readonly fates: ReadonlyMap<string, Fate>;
  readonly #play: Play;
  #now = 0;
  #read = 0;
  #hasFallen = false;
  #timePassed = 0;
  /** Who had a verdict before what happens now. */
  #settledBefore: ReadonlySet<Fate> = new Set();

  constructor(play: Play) {
    this.#play = play;
    const { calls, dispatch } = play.world;
    this.root = new RunFate(calls, undefined, dispatch === "held");
    this.fates = new Map(everyFate(this.root).map((fate) => [fate.spec.key, fate]));
  }

  /** Everything that may happen next. */
  moves(): Move[] {
    const { world, waiting, run } = this.#play;
    const { disturbance, ears } = world;
    const opens = waiting.map((key) => `open ${key}` as const);
    const patience = [...this.fates.values()].some(({ dueAt, isGone }) => dueAt !== undefined && !isGone);
    const afterlife: Move[] = patience ? ["patience"] : [];
    // Behind the run's end deaf bodies end in the order in which they came.
    if (run !== undefined) return ears === "all" ? opens.slice(0, 1) : [...opens.slice(0, 1), ...afterlife];
    const moves: Move[] = [...opens, ...afterlife];
    if (!this.root.isWhole) moves.push("stream");
    if (this.#hasFallen) return moves;
    if (disturbance.kind === "cancel") moves.push("cancel");
    if (disturbance.kind === "runSeconds") moves.push("time");
    if (disturbance.kind === "toolCallSeconds" && this.root.isWhole) moves.push("time");
    if (disturbance.kind === "ceiling") {
      const of = this.fates.get(disturbance.of) as Fate;
      // Time that passes while it waits is nothing to its ceiling: once is enough.
      if (of.verdict === undefined && (this.#ticks(of) || this.#timePassed === 0)) moves.push("time");
    }
    return moves;
  }

  /** Takes in what happens next, and then what the bodies saw of it. */
  take(move: Move | undefined): void {
    this.#settledBefore = new Set([...this.fates.values()].filter(({ verdict }) => verdict !== undefined));
    if (move === "stream") {
      if (this.root.asked < this.root.calls.length) this.root.asked += 1;
      else this.root.isWhole = true;
    } else if (move === "cancel") {
      this.#hasFallen = true;
      const cut = this.#open().filter(({ verdict }) => verdict === undefined);
      this.#stop(this.root, { status: "cancelled", why: "the run was cancelled", code: "CANCELLED" });
      for (const { spec } of cut) {
        const { signals, abortedAtOnce } = this.#play;
        if (signals.has(spec.key) && !abortedAtOnce.has(spec.key)) {
          throw new Error(`the signal of ${spec.key} did not abort at once`);
        }
      }
    } else if (move === "time") this.#timePasses();
    else if (move === "patience") this.#patienceEnds();
    this.#propagate();
    for (; this.#read < this.#play.facts.length; this.#read += 1) {
      this.#see(this.#play.facts[this.#read] as Fact);
      this.#propagate();
    }
  }

  /** What must hold while nothing moves. */
  check(): void {
    for (const fate of this.fates.values()) {
      const { key } = fate.spec;
      if (this.#mayStart(fate)) throw new Error(`${key} waits, and nothing is in its way`);
      const isAborted = this.#play.signals.get(key)?.aborted;
      if (isAborted !== undefined && isAborted !== (fate.verdict?.wasCutOff === true)) {
        throw new Error(`the signal of ${key} has ${isAborted ? "" : "not "}aborted`);
      }
    }
    const hasSettled = this.#play.run !== undefined;
    if (hasSettled !== this.root.isOver) throw new Error(`the run has ${hasSettled ? "" : "not "}settled`);
  }

  #open(): Fate[] {
    return [...this.fates.values()].filter(({ hasStarted, isGone }) => hasStarted && !isGone);
  }

  #see({ kind, key }: Fact): void {
    const fate = this.fates.get(key) as Fate;
    if (kind === "starts") {
      const { stop } = fate.within;
      if (stop?.isIndirect === true && fate.verdict?.status === "never_dispatched" && !this.#settledBefore.has(fate)) {
        fate.verdict = undefined;
        fate.hasStarted = true;
        this.#cutOff(fate, stop);
        return;
      }
      const reason = this.#inTheWay(fate);
      if (reason !== undefined) throw new Error(`${key} started, and ${reason}`);
      fate.hasStarted = true;
      return;
    }
    fate.hasEnded = true;
    this.#giveOwn(fate, this.#play.throws(key) ? undefined : `done ${key}`);
  }

  #mayStart(fate: Fate): boolean {
    return this.#inTheWay(fate) === undefined;
  }

  /** Why a call may not be dispatched now; nothing when it may. */
  #inTheWay(fate: Fate): string | undefined {
    const { within, spec } = fate;
    if (!fate.isAsked) return "nobody has asked for it";
    if (fate.hasStarted) return "it had started before";
    if (fate.verdict !== undefined) return `it had its verdict: ${fate.verdict.content}`;
    // 3.10: before the response is complete only what is idempotent and parallel-safe goes out, here and below.
    if (!within.isWholeAbove && !(spec.isIdempotent && spec.isSafe)) return "the response is not complete";
    // 5.1: calls share a phase when all from the one to the other are parallel-safe; else the earlier must be over.
    const place = within.calls.indexOf(fate);
    for (let before = 0; before < place; before += 1) {
      const earlier = within.calls[before] as Fate;
      const isOnePhase = within.calls.slice(before, place + 1).every((call) => call.spec.isSafe);
      const isOver = earlier.verdict !== undefined && earlier.holdsNothing;
      if (!isOnePhase && !isOver) return `${earlier.spec.key} of an earlier phase is not over`;
      // 4.5: calls with the same lanes go first come, first served.
      const haveSameLanes = this.#play.toolOf(spec) === this.#play.toolOf(earlier.spec);
      const isOvertaken = haveSameLanes && !earlier.hasStarted && earlier.verdict === undefined;
      if (isOnePhase && isOvertaken) return `${earlier.spec.key} came first`;
    }
    // 4.3, 4.4, 4.6, 5.2: in each lane of bound 1 that it stands in there is nobody, or nobody but its own callers.
    const lanes = this.#lanesOf(fate);
    for (const other of this.#open()) {
      if (fate.isBelow(other)) continue;
      const shared = this.#lanesOf(other).find((lane) => lanes.includes(lane));
      if (shared !== undefined) return `${other.spec.key} has the place in lane ${String(shared)}`;
    }
    return undefined;
  }

  /** The lanes of bound 1 that a call stands in: texts, and a run for its turn. */
  #lanesOf({ spec, within }: Fate): (string | RunFate)[] {
    const lanes: (string | RunFate)[] = spec.isSafe ? [] : ["exclusive"];
    const { bounds } = this.#play.world;
    if (bounds === "tenant") lanes.push("tenant");
    if (bounds === "resource" && spec.kind === "leaf") lanes.push("resource");
    if (bounds === "turn") for (let run: RunFate | undefined = within; run; run = run.caller?.within) lanes.push(run);
    return lanes;
  }

  /** Runs below come to their end, and so do the bodies that wait for them. */
  #propagate(): void {
    const ending = [...this.fates.values()].find(
      ({ below, hasStarted, hasEnded }) => below?.isOver === true && hasStarted && !hasEnded,
    );
    if (ending === undefined) return;
    const { spec, below } = ending as Fate & { below: RunFate };
    ending.hasEnded = true;
    if (spec.kind === "body") this.#giveOwn(ending, this.#play.throws(spec.key) ? undefined : below.status);
    else if (below.status === "completed") this.#giveOwn(ending, `answer ${spec.key}`);
    else {
      // What a call below may have done, this one may have done.
      const landed = below.calls.some(({ verdict }) => verdict?.mayHaveLanded === true);
      this.#fail(ending, `${this.#play.toolOf(spec)} failed: ${messageOf(below)}`, landed, false);
    }
    this.#propagate();
  }

  /** Gives a call the outcome of its own body: what it returned, or that it threw. */
  #giveOwn(fate: Fate, returned: string | undefined): void {
    const { key } = fate.spec;
    if (returned !== undefined)
      this.#give(fate, { status: "ok", content: returned, mayHaveLanded: false, wasCutOff: false });
    else this.#fail(fate, `${this.#play.toolOf(fate.spec)} failed: broken ${key}`, false, false);
  }

  /** 7.1, 7.3: a call fails, and under `fail_run` its run with it. */
  #fail(fate: Fate, message: string, mayHaveLanded: boolean, wasCutOff: boolean): void {
    if (fate.verdict !== undefined) return;
    const content = mayHaveLanded ? `${message}. The side effect may have landed.` : message;
    this.#give(fate, { status: "error", content, mayHaveLanded, wasCutOff });
    if (this.#play.policy !== "fail_run") return;
    const code = wasCutOff ? "TOOL_TIMED_OUT" : "TOOL_FAILED";
    const isIndirect = fate.below !== undefined && !wasCutOff;
    this.#stop(fate.within, { status: "failed", why: `a sibling failed: ${message}`, code, isIndirect });
  }

  #give(fate: Fate, verdict: Verdict): void {
    if (fate.verdict !== undefined) return;
    fate.verdict = verdict;
    this.#watch(fate);
  }

  #watch(fate: Fate): void {
    if (fate.hasStarted && fate.verdict !== undefined) fate.dueAt = this.#now + ABANDON_SECONDS;
  }

  /** 8: what had not resolved is told apart by what it had begun. */
  #stop(run: RunFate, stop: Stop): void {
    if (run.stop !== undefined) return;
    run.stop = stop;
    for (const fate of run.calls) {
      if (!fate.isAsked || fate.verdict !== undefined) continue;
      if (fate.hasStarted) this.#cutOff(fate, stop);
      else {
        const content = `never dispatched: ${stop.why}`;
        this.#give(fate, { status: "never_dispatched", content, mayHaveLanded: false, wasCutOff: false });
      }
    }
  }

  #cutOff(fate: Fate, stop: Stop): void {
    const { isIdempotent } = fate.spec;
    const ending = isIdempotent ? "Safe to call again." : "The side effect may have landed.";
    this.#give(fate, {
      status: isIdempotent ? "error" : "indeterminate",
      content: `stopped in flight: ${stop.why}. ${ending}`,
      mayHaveLanded: !isIdempotent,
      wasCutOff: true,
    });
    if (fate.below !== undefined) this.#stop(fate.below, stop);
  }

  #timePasses(): void {
    const { disturbance } = this.#play.world;
    this.#timePassed += 1;
    this.#now += disturbance.kind === "ceiling" ? CEILING_SECONDS : DEADLINE_SECONDS;
    if (disturbance.kind === "runSeconds" || disturbance.kind === "toolCallSeconds") {
      this.#hasFallen = true;
      const what = disturbance.kind === "runSeconds" ? "the run" : "a turn's tool phase";
      const why = `deadlines.${disturbance.kind}: ${what} took longer than ${DEADLINE_SECONDS} s`;
      this.#stop(this.root, { status: "failed", why, code: "DEADLINE_EXCEEDED" });
    } else if (disturbance.kind === "ceiling") {
      const fate = this.fates.get(disturbance.of) as Fate;
      if (!this.#ticks(fate)) return;
      this.#hasFallen = true;
      const { spec, below } = fate;
      if (below !== undefined) {
        this.#stop(below, { status: "cancelled", why: "its caller has had its verdict", code: "CANCELLED" });
      }
      const message = `${this.#play.toolOf(spec)} took longer than its ceiling of ${CEILING_SECONDS} s`;
      this.#fail(fate, message, !spec.isIdempotent, true);
    }
  }

  /** 7.2, 3.8: a ceiling counts from dispatch, and stands still while all that is below waits for lanes. */
  #ticks(fate: Fate): boolean {
    if (!fate.isInFlight) return false;
    const { below } = fate;
    if (below === undefined || below.calls.some(({ isInFlight }) => isInFlight)) return true;
    return !below.calls.some((call) => this.#inTheWay(call)?.includes("in lane") === true);
  }

  /** 4.8: what outlives its verdict is abandoned, or overdue where a second body beside it would break a promise. */
  #patienceEnds(): void {
    const due = [...this.fates.values()].filter(({ dueAt, isGone }) => dueAt !== undefined && !isGone);
    this.#now = Math.min(...due.map(({ dueAt }) => dueAt as number));
    // What is nested goes first: a body that waited for nothing else has ended with it.
    for (const fate of due.reverse()) {
      if (fate.dueAt !== this.#now || fate.isGone) continue;
      fate.dueAt = undefined;
      const { spec } = fate;
      const hasBoundOfOne = this.#play.world.bounds === "resource" && spec.kind === "leaf";
      fate.overdue = spec.isSafe && !hasBoundOfOne ? "tool_abandoned" : "tool_overdue";
      fate.wasAbandoned = fate.overdue === "tool_abandoned";
    }
  }
}

/** What the error of a run says that one of its calls ended. */
function messageOf({ stop }: RunFate): string {
  return (stop as Stop).why.replace(/^a sibling failed: /, "");
}

export function everyFate(run: RunFate): Fate[] {
  return run.calls.flatMap((fate) => [fate, ...(fate.below === undefined ? [] : everyFate(fate.below))]);
}
