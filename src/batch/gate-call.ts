/**
 * What the gates make of a call, also of one that is known from before a resume: what was asked is not asked again
 * (`Semantics 3.6`), and what went out without an outcome is settled, run again or told as unknown (`Semantics 11.2`).
 */

import { copyJson } from "../base/copy-json.ts";
import { isInstance } from "../base/is-instance.ts";
import type { CallBegun } from "../journal/journal-entry.ts";
import type { PendingCall } from "../protocol/gate.ts";
import type { Reconcile, Reconciled, Tool } from "../tools/tool.ts";
import { Attempt } from "./attempt.ts";
import type { Call } from "./call.ts";
import { isContinued } from "./continued-tools.ts";
import { type GateNote, type GateOutcome, type Gates, passGates } from "./gates.ts";
import { Stopped } from "./stop.ts";
import { outcomeUnknown } from "./verdict.ts";

/**
 * Takes a call through its gates. Gives nothing for one that stood behind them, or before one, when its run was suspended.
 *
 * Rejects only with {@link Stopped}, when the run stopped meanwhile.
 */
export async function gateCall(call: Call, tool: Tool, gates: Gates): Promise<GateOutcome | undefined> {
  const { id, name, position, of, key, known } = call;
  const note: GateNote = (kind, detail) => call.tellOfGate(kind, detail);
  const gated = known?.gated;
  if (gated === undefined) {
    return passGates({ id, name, position, of, tool, input: call.input, pendingId: key }, gates, note);
  }
  call.input = gated.input;
  // The stricter of what was declared then and what is declared now.
  call.parallelSafe = gated.parallelSafe && tool.parallelSafe !== false;
  const { pending } = gated;
  if (pending === undefined) {
    call.state = "ready";
    // Held back again, it still waits for everything below it.
    if (isContinued(tool)) call.waitsFor = waitingBelow(call);
    return known?.begun === undefined || isContinued(tool) ? undefined : settleUnknown(call, tool, known.begun);
  }
  if (known?.decision === undefined) {
    call.state = "suspended";
    call.waitsFor = [pending];
    return undefined;
  }
  const answered = { decision: known.decision, reason: pending.reason };
  return passGates({ id, name, position, of, tool, input: gated.input, pendingId: key }, gates, note, answered);
}

function waitingBelow({ firstNestedPath: below, scope }: Call): PendingCall[] {
  const waiting = [...(scope.history?.waiting().values() ?? [])];
  return waiting.filter((one) => one.path === below || one.path.startsWith(`${below}/`)).map(({ pending }) => pending);
}

/** The process that ran the call has ended, and nobody has its outcome. Gives nothing when it is to run again. */
async function settleUnknown(call: Call, tool: Tool, begun: CallBegun): Promise<GateOutcome | undefined> {
  const isIdempotent = tool.idempotent && begun.idempotent;
  if (isIdempotent) return undefined;
  const found = tool.reconcile === undefined ? undefined : await askTool(call, tool.reconcile, begun);
  if (found?.landed === false) {
    call.isUndone = true;
    return undefined;
  }
  call.state = "answered";
  return found?.landed === true
    ? { kind: "answered", input: call.input, value: found.result }
    : { kind: "failed", result: outcomeUnknown(call) };
}

async function askTool(
  call: Call,
  reconcile: Reconcile<unknown, unknown>,
  begun: CallBegun,
): Promise<Reconciled | undefined> {
  const { stop, report } = call.scope;
  const attempt = new Attempt(call, begun.attempt, () => {});
  try {
    const check = await stop.race(Promise.resolve(call.tool?.validate(copyJson(call.input))));
    if (check?.ok !== true) return undefined;
    const found: unknown = await stop.ask(() => reconcile(check.args, attempt.context));
    const { landed, result } = found as { landed: unknown; result?: unknown };
    if (landed === true) return { landed, result };
    return landed === false ? { landed } : undefined;
  } catch (threw) {
    if (isInstance(threw, Stopped)) throw threw;
    report(threw);
    return undefined;
  } finally {
    attempt.dismiss();
  }
}
