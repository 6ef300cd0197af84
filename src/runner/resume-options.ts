import { checkFunction, checkOptions, checkSignal, refuse } from "../base/option-checks.ts";
import type { RunEvent } from "../protocol/event.ts";
import type { Decision } from "../protocol/gate.ts";
import { readDecisions } from "./read-decisions.ts";

/** What may be said when a suspended run is resumed. */
export interface ResumeOptions<Context = unknown> {
  /** What somebody decided, by `PendingCall.id`; calls that are left out wait on. */
  decisions?: Readonly<Record<string, Decision>> | undefined;
  /** Given to bodies and gates as it is: a context is not kept. */
  context?: Context | undefined;
  /** Cancels the run when it aborts. */
  signal?: AbortSignal | undefined;
  /** Told each event from the resume on. */
  onEvent?: ((event: RunEvent) => void) | undefined;
}

/** The rest of the arguments of a resume: options with a `context`, where the tools expect one. */
export type ResumeArguments<Context> = unknown extends Context
  ? [options?: ResumeOptions<Context>]
  : [options: ResumeOptions<Context> & { context: Context }];

const KNOWN = ["decisions", "context", "signal", "onEvent"] as const satisfies readonly (keyof ResumeOptions)[];

/**
 * The options as they are now: what becomes of the caller's object while the journal is asked changes nothing.
 *
 * @throws ConfigurationError (`CONFIGURATION`) for an unknown key or a value that could never work.
 */
export function checkResumeOptions(runId: unknown, options: ResumeOptions | undefined): ResumeOptions {
  if (typeof runId !== "string" || runId === "") refuse("resume runId", "a text that is not empty", runId);
  if (options === undefined) return {};
  const given = checkOptions("resume", options, KNOWN) as ResumeOptions;
  const { decisions, signal, onEvent } = given;
  checkSignal("resume.signal", signal);
  checkFunction("resume.onEvent", onEvent);
  return decisions === undefined ? given : { ...given, decisions: readDecisions(decisions) };
}
