import { canonicalJson } from "../base/canonical-json.ts";
import { ConfigurationError } from "../base/errors.ts";
import { refuse } from "../base/option-checks.ts";
import type { History } from "../journal/history.ts";
import type { CallDecided } from "../journal/journal-entry.ts";
import type { Decision } from "../protocol/gate.ts";
import { decisionPath } from "./read-decisions.ts";

/**
 * What somebody decided, as the journal keeps it. Checked as a whole: one that is wrong changes nothing (`Semantics 3.6`).
 *
 * What was decided before may be said again, and does nothing more.
 *
 * @throws ConfigurationError (`CONFIGURATION`) for the id of no call that waits, and for an approval of what has no body.
 */
export function checkDecisions(history: History, decisions: Readonly<Record<string, Decision>>): CallDecided[] {
  const waiting = history.waiting();
  const before = history.decided();
  const decided: CallDecided[] = [];
  for (const [id, decision] of Object.entries(decisions)) {
    const at = decisionPath(id);
    const call = waiting.get(id);
    if (call === undefined) {
      const answered = before.get(id);
      if (answered !== undefined && canonicalJson(answered) === canonicalJson(decision)) continue;
      const there = waiting.size === 0 ? "none waits" : `those that wait are ${[...waiting.keys()].join(", ")}`;
      const why = answered === undefined ? "" : " or the decision that it was given before";
      throw new ConfigurationError(`${at}: expected the id of a call that waits${why}; ${there}`);
    }
    if (call.pending.reason === "external" && "approve" in decision && decision.approve) refuse(at, OUTSIDE, decision);
    const { path, turn, position } = call;
    if (!("suspend" in decision)) decided.push({ kind: "call_decided", path, turn, position, decision });
  }
  return decided;
}

const OUTSIDE = "{ result }, { approve: false, reason? } or { suspend: true }, since the tool has no body";
