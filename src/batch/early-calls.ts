import { canonicalJson } from "../base/canonical-json.ts";
import type { ToolCall } from "../protocol/message.ts";
import { Batch } from "./batch.ts";
import { isId } from "./call-ids.ts";
import type { Section } from "./event-log.ts";
import { parseCall, vendorCall } from "./parse-batch.ts";
import type { RunScope } from "./run-scope.ts";

/**
 * The calls that a model has finished asking for while it still streams (`Semantics 3.10`).
 *
 * Y1. They are the first of the response's calls, in call order, under the ids that they have there.
 * Y2. What has gone out is in the response: one that came out otherwise is taken only where nothing has gone out, and then
 *     nothing of the stream is left but what was told live.
 * Y3. Where they stand in the run's events is settled before the first of them, so that it does not depend on when the
 *     model said what.
 */
export class EarlyCalls {
  /** Where the calls' events stand. */
  readonly section: Section;
  readonly #scope: RunScope;
  readonly #turn: number;
  readonly #seenIds: ReadonlySet<string>;
  readonly #offered: ToolCall[] = [];
  readonly #ids = new Set<string>();
  #batch: Batch | undefined;
  #isShut = false;

  /** `seenIds` are those that stand in the transcript already. */
  constructor(scope: RunScope, turn: number, seenIds: ReadonlySet<string>) {
    this.#scope = scope;
    this.#turn = turn;
    this.#seenIds = seenIds;
    this.section = scope.events.openSection();
  }

  /** What runs them; none when none was offered. */
  get batch(): Batch | undefined {
    return this.#batch;
  }

  /** Takes the next call. One whose id is not its own yet, or that cannot be run, and all after it, wait for the whole response. */
  offer(asked: ToolCall): void {
    const { id } = asked;
    const position = this.#offered.length;
    const isItsOwn = isId(id) && !this.#seenIds.has(id) && !this.#ids.has(id);
    const vendors = vendorCall(asked, id);
    // What is wrong with a call is told once the response says that it is one.
    const isSound = vendors.problem === undefined && this.#scope.tools.get(asked.name) !== undefined;
    if (!isItsOwn || !isSound || position >= this.#scope.limits.maxCallsPerTurn) this.#isShut = true;
    if (this.#isShut || this.#scope.stop.reason !== undefined) return;
    this.#ids.add(id);
    this.#offered.push(asked);
    const place = { turn: this.#turn, position, of: position + 1 };
    this.#batch ??= new Batch(this.#scope, this.#turn);
    this.#batch.take(parseCall(this.#scope, { early: this }, place, asked, vendors));
  }

  /** Whether the response goes on from what it streamed; if not, everything is taken back where nothing has gone out. */
  isBorneOut(calls: readonly ToolCall[]): boolean {
    if (this.#offered.every((call, position) => isSame(call, calls[position]))) return true;
    if (this.#batch?.withdraw() !== true) return false;
    withdrawCalls(this.#scope, this.#turn);
    this.section.entries.length = 0;
    this.#offered.length = 0;
    this.#batch = this.#batch.another(this.#turn);
    return true;
  }
}

/** Writes down that a turn's calls never were. Those that come in their place have other keys (`Semantics 7.6`). */
export function withdrawCalls({ recorder, path, withdrawals }: RunScope, turn: number): void {
  withdrawals.set(turn, (withdrawals.get(turn) ?? 0) + 1);
  recorder?.append({ kind: "calls_withdrawn", path, turn });
}

function isSame(offered: ToolCall, call: ToolCall | undefined): boolean {
  if (call === undefined || call.id !== offered.id || call.name !== offered.name) return false;
  const [before, now] = [offered, call].map((one) => canonicalJson(vendorCall(one, one.id).call.args));
  return before === now;
}
