import type { Decision, PendingCall } from "../protocol/gate.ts";
import type { Usage } from "../protocol/usage.ts";
import type {
  CallBegun,
  CallGated,
  CallPlace,
  CallSettled,
  CallsWithdrawn,
  JournalEntry,
  ModelAnswered,
  RecordedDelta,
  RunBegun,
  UsageSpent,
} from "./journal-entry.ts";

/** What is known of one call. */
export interface CallHistory {
  /** What keyed a decision about it, if it ever waited. */
  id?: string;
  gated?: CallGated;
  decision?: Decision;
  /** What was decided about it last, also after it went on with that. */
  decided?: Decision;
  begun?: CallBegun;
  settled?: CallSettled;
}

/** What is known of one run: the outermost, or one nested in an `agentTool` call. */
export interface RunHistory {
  readonly begun: RunBegun;
  /** By turn. */
  readonly answers: ReadonlyMap<number, ModelAnswered>;
  /** What runs nested in it took of their models. */
  readonly spent: readonly Usage[];
  /** What calls wrote to the run's state, in the order in which it was merged. */
  readonly deltas: readonly RecordedDelta[];
  /** How often the calls of a turn were taken back, by turn. */
  readonly withdrawals: ReadonlyMap<number, number>;
  /** The turn whose calls went out before its answer was whole, when that never came: they have been left out here. */
  readonly unanswered: number | undefined;
  call(turn: number, position: number): CallHistory | undefined;
}

/**
 * A journal's entries, found by the place of what they tell. Pure; linear in the number of entries.
 *
 * What the last entry about a thing says holds: a call that was suspended twice waits as it did last.
 */
export class History {
  readonly #runs = new Map<string, FoldedRun>();

  constructor(entries: readonly JournalEntry[]) {
    for (const entry of entries) {
      if (entry.kind === "run_begun") this.#runs.set(entry.path, new FoldedRun(entry));
      else if (entry.kind === "calls_withdrawn") {
        this.#leaveOut(entry.path, entry.turn);
        this.#runs.get(entry.path)?.countWithdrawal(entry.turn);
      } else this.#runs.get(entry.path)?.take(entry);
    }
    for (const [path, run] of this.#runs) {
      run.unanswered = run.unansweredTurn();
      if (run.unanswered !== undefined) this.#leaveOut(path, run.unanswered);
    }
  }

  /** Forgets a turn's calls, and the runs below them. */
  #leaveOut(path: string, turn: number): void {
    this.#runs.get(path)?.leaveOut(turn);
    for (const below of this.#runs.keys()) if (below.startsWith(`${path}/${turn}.`)) this.#runs.delete(below);
  }

  run(path: string): RunHistory | undefined {
    return this.#runs.get(path);
  }

  /** Every call that waits for somebody and has no answer, by the id that keys one. In call order, callers first. */
  waiting(): Map<string, CallGated & { pending: PendingCall }> {
    const waiting = new Map<string, CallGated & { pending: PendingCall }>();
    for (const run of this.#runs.values()) {
      if (this.#isLeft(run.begun.path)) continue;
      for (const { gated, decision, settled } of run.calls()) {
        if (gated?.pending === undefined || decision !== undefined || settled !== undefined) continue;
        waiting.set(gated.pending.id, gated as CallGated & { pending: PendingCall });
      }
    }
    return waiting;
  }

  /** What was decided last about each call that waited, by the id that keyed it. */
  decided(): Map<string, Decision> {
    const all = new Map<string, Decision>();
    for (const run of this.#runs.values()) {
      for (const { id, decided } of run.calls()) if (decided !== undefined) all.set(id as string, decided);
    }
    return all;
  }

  /** Whether the call that a run stands below has its verdict, or one further up: then nobody goes on with the run. */
  #isLeft(path: string): boolean {
    if (!path.includes("/")) return false;
    const { path: above, turn, position } = placeOf(path);
    return this.#runs.get(above)?.call(turn, position)?.settled !== undefined || this.#isLeft(above);
  }
}

/** Where the call stands below which a run stands: of `0/2.1`, and of the second run there, `0/2.1:2`. */
function placeOf(path: string): CallPlace {
  const end = path.lastIndexOf("/");
  const [turn, position] = path
    .slice(end + 1)
    .split(/[.:]/)
    .map(Number) as [number, number];
  return { path: path.slice(0, end), turn, position };
}

class FoldedRun implements RunHistory {
  readonly begun: RunBegun;
  readonly answers = new Map<number, ModelAnswered>();
  readonly withdrawals = new Map<number, number>();
  unanswered: number | undefined;
  #settled: CallSettled[] = [];
  readonly #calls = new Map<string, CallHistory>();
  /** What a run told again counts once. */
  readonly #spent = new Map<string | number, UsageSpent>();

  constructor(begun: RunBegun) {
    this.begun = begun;
  }

  call(turn: number, position: number): CallHistory | undefined {
    return this.#calls.get(`${turn}.${position}`);
  }

  calls(): Iterable<CallHistory> {
    return this.#calls.values();
  }

  get deltas(): RecordedDelta[] {
    return this.#settled.map(({ delta }) => delta);
  }

  unansweredTurn(): number | undefined {
    for (const key of this.#calls.keys()) {
      const turn = Number.parseInt(key, 10);
      if (!this.answers.has(turn)) return turn;
    }
    return undefined;
  }

  countWithdrawal(turn: number): void {
    this.withdrawals.set(turn, (this.withdrawals.get(turn) ?? 0) + 1);
  }

  leaveOut(turn: number): void {
    // What its runs took was taken.
    for (const [key, { below, ...spent }] of this.#spent) {
      if (below !== undefined && placeOf(below).turn === turn) this.#spent.set(key, spent);
    }
    for (const key of this.#calls.keys()) if (key.startsWith(`${turn}.`)) this.#calls.delete(key);
    this.#settled = this.#settled.filter((settled) => settled.turn !== turn);
  }

  get spent(): Usage[] {
    return [...this.#spent.values()]
      .filter(({ below }) => below === undefined || this.#isOver(below))
      .map(({ usage }) => usage);
  }

  /** Whether the call that a run stands below has its result. */
  #isOver(below: string): boolean {
    const { turn, position } = placeOf(below);
    return this.call(turn, position)?.settled !== undefined;
  }

  take(entry: Exclude<JournalEntry, RunBegun | CallsWithdrawn>): void {
    switch (entry.kind) {
      case "model_answered":
        this.answers.set(entry.turn, entry);
        return;
      case "usage_spent":
        this.#spent.set(entry.below ?? this.#spent.size, entry);
        return;
      case "call_gated":
        this.#at(entry).gated = entry;
        if (entry.pending !== undefined) this.#at(entry).id = entry.pending.id;
        delete this.#at(entry).decision;
        return;
      case "call_decided":
        this.#at(entry).decision = entry.decision;
        this.#at(entry).decided = entry.decision;
        return;
      case "call_begun":
        this.#at(entry).begun = entry;
        return;
      case "call_settled":
        this.#at(entry).settled = entry;
        this.#settled.push(entry);
    }
  }

  #at({ turn, position }: CallPlace): CallHistory {
    const key = `${turn}.${position}`;
    let call = this.#calls.get(key);
    if (call === undefined) {
      call = {};
      this.#calls.set(key, call);
    }
    return call;
  }
}
