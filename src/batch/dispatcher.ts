/**
 * One call's dispatches: wait for lanes, run the body, and again where a retry is declared (`Semantics 7.5`).
 *
 * What a dispatch is and how it ends is `attempt.ts`'s; which calls go out, and what becomes of what they bring,
 * `batch.ts`'s.
 */

import { canonicalJson } from "../base/canonical-json.ts";
import type { Timer } from "../base/clock.ts";
import { copyJson } from "../base/copy-json.ts";
import { errorJson, InternalError, LanekeeperError } from "../base/errors.ts";
import { hush } from "../base/hush.ts";
import { isInstance } from "../base/is-instance.ts";
import type { LaneRequest } from "../lanes/lane-request.ts";
import type { Permit } from "../lanes/permit.ts";
import type { Turn } from "../lanes/turn.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import { backoffAfter } from "../tools/retry-policy.ts";
import type { InputCheck, RetryPolicy, Tool } from "../tools/tool.ts";
import { ToolInputError } from "../tools/tool-errors.ts";
import { Attempt, type AttemptEnd } from "./attempt.ts";
import type { Call } from "./call.ts";
import type { RunScope } from "./run-scope.ts";
import { Stopped } from "./stop.ts";
import { failed, neverDispatched } from "./verdict.ts";

/** The batch, as one of its calls sees it. */
export interface CallsBatch {
  readonly turn: Turn;
  /** Whether anything may still go out. */
  readonly isOpen: boolean;
  /** Goes on while the batch may; waits for the stop that is on its way when it may not. Rejects with `Stopped`. */
  unlessClosed(): Promise<void>;
  /** Gives a call its verdict as a failure. */
  fail(call: Call, result: ToolResult): void;
  /** The run has stopped: what the call has brought is its result. */
  conclude(call: Call): void;
}

export class Dispatcher {
  readonly #scope: RunScope;
  readonly #batch: CallsBatch;

  constructor(scope: RunScope, batch: CallsBatch) {
    this.#scope = scope;
    this.#batch = batch;
  }

  /** Runs one call to its outcome, or until the batch stops. */
  async run(call: Call): Promise<void> {
    const { activity, stop } = this.#scope;
    activity.begin("busy");
    try {
      if (call.result !== undefined) return;
      for (let number = (call.known?.begun?.attempt ?? 0) + 1; ; number++) {
        const backoffSeconds = await this.#attempt(call, number);
        if (backoffSeconds === undefined) return;
        // The next attempt starts only after this one has really ended, and backoff holds no permit (`Semantics 7.5`).
        await stop.race((call.attempt as Attempt).gone());
        if (backoffSeconds > 0) await this.#pause(backoffSeconds);
      }
    } catch (ended) {
      if (!isInstance(ended, Stopped)) throw ended;
    } finally {
      activity.end("busy");
    }
  }

  /** One attempt of a call. Resolves with the seconds until the next one, or with nothing when there is none. */
  async #attempt(call: Call, number: number): Promise<number | undefined> {
    const { activity, stop } = this.#scope;
    const tool = call.tool as Tool;
    const checked = tool.validate(copyJson(call.input));
    const check: InputCheck = checked instanceof Promise ? await stop.race(checked) : checked;
    if (!check.ok) {
      this.#batch.fail(call, failed(call, new ToolInputError(tool.name, check.problems), call.mayHaveLanded));
      return undefined;
    }
    let over: (backoffSeconds: number | undefined) => void = () => {};
    const ended = new Promise<number | undefined>((resolve) => {
      over = resolve;
    });
    const attempt = new Attempt(call, number, (end) => over(this.#afterAttempt(call, number, end)));
    const permit = await this.#acquire(call, attempt);
    if (permit === undefined) return undefined;
    if (this.#mayStart(call)) {
      const { idempotent } = tool;
      const recorded = this.#scope.recorder?.begin(() => ({
        kind: "call_begun",
        ...call.place,
        attempt: number,
        idempotent,
      }));
      // A journal that never answers must not keep the places of a call that was stopped.
      if (recorded !== undefined) await stop.until(recorded);
    }
    // Granted, and closed before its body could start: the places go back unused (`Semantics 4.10`). Asked here and not
    // where the permit came, since a sibling that starts in between may be told of, and whoever is told may stop the run.
    if (!this.#mayStart(call)) {
      permit.release();
      await this.#batch.unlessClosed();
      return undefined;
    }
    attempt.start(tool, check.args, permit);
    activity.end("busy");
    try {
      return await stop.race(ended);
    } finally {
      activity.begin("busy");
    }
  }

  /** Nothing has stopped the batch, or given the call its verdict, since it was sent out. */
  #mayStart({ result }: Call): boolean {
    return this.#batch.isOpen && result === undefined;
  }

  /** Waits for the call's lanes. Gives nothing when the lanes refused it, and then the call has its verdict. */
  async #acquire(call: Call, attempt: Attempt): Promise<Permit | undefined> {
    const { activity, lanes, stop } = this.#scope;
    activity.turn("busy", "lanes");
    try {
      return await lanes.acquire(this.#laneRequest(call), { signal: (call.early ?? stop).signal, holder: attempt });
    } catch (threw) {
      if (stop.reason !== undefined) throw new Stopped();
      if (call.result !== undefined) return undefined;
      const error = LanekeeperError.is(threw) ? threw : new InternalError("lanes threw", { cause: threw });
      // A later attempt that the lanes refuse does not undo that an earlier one went out.
      const result = call.wasDispatched
        ? failed(call, error, call.mayHaveLanded)
        : neverDispatched(call, error.message, error);
      this.#batch.fail(call, result);
      return undefined;
    } finally {
      activity.turn("lanes", "busy");
    }
  }

  #laneRequest(call: Call): LaneRequest {
    const { tenant, runId } = this.#scope;
    const request = { tenant, turn: this.#batch.turn, tool: call.name };
    const resource = call.tool?.resource;
    return {
      ...request,
      ...(resource === undefined ? {} : { resource }),
      // One key for everything under an outermost run (`Semantics 5.2`), one for equal input forms (`Semantics 5.3`).
      ...(call.parallelSafe ? {} : { exclusive: runId, arguments: canonicalJson(call.input) }),
    };
  }

  /** What follows an attempt that nothing stopped: decided at once. Gives the backoff when another attempt follows. */
  #afterAttempt(call: Call, number: number, end: AttemptEnd): number | undefined {
    if ("output" in end) {
      call.brought = { ...end.output, delta: end.delta };
      // Stopped by somebody who was told that the body has ended: it had brought something by then.
      if (this.#scope.stop.reason !== undefined) this.#batch.conclude(call);
      return undefined;
    }
    if ("waitsFor" in end) {
      // It has brought nothing: a stop that comes while it waits gives it its verdict.
      call.ended = false;
      call.state = "suspended";
      call.waitsFor = end.waitsFor;
      return undefined;
    }
    const retry = call.tool?.retry;
    if (
      retry !== undefined &&
      this.#batch.isOpen &&
      number < retry.attempts &&
      this.#isWorthRetrying(retry, end.error, number) &&
      this.#batch.isOpen
    ) {
      call.ended = false;
      const backoffSeconds = backoffAfter(retry, number);
      const detail = `attempt ${number} of ${retry.attempts} failed: ${end.error.message}`;
      call.tell({ kind: "tool_retried", detail, attempt: number, backoffSeconds, error: errorJson(end.error) });
      return backoffSeconds;
    }
    this.#batch.fail(call, failed(call, end.error, end.mayHaveLanded));
    return undefined;
  }

  #isWorthRetrying({ when }: RetryPolicy, error: LanekeeperError, attempt: number): boolean {
    if (when === undefined) return true;
    try {
      const said: unknown = when(error, attempt);
      hush(said);
      return said === true;
    } catch (threw) {
      this.#scope.report(threw);
      return false;
    }
  }

  async #pause(seconds: number): Promise<void> {
    const { clock, stop } = this.#scope;
    let timer: Timer | undefined;
    try {
      await stop.race(
        new Promise<void>((resolve) => {
          timer = clock.setTimer(seconds * 1000, resolve);
        }),
      );
    } finally {
      timer?.cancel();
    }
  }
}
