import { checkFunction, checkOptions, checkSignal, refuse } from "../base/option-checks.ts";
import type { RunEvent } from "../protocol/event.ts";

/** What may be said about one run. */
export interface RunOptions<Context = unknown> {
  /** On whose behalf. Default `default`; a nested run has its caller's. */
  tenant?: string | undefined;
  /** Cancels the run when it aborts; its reason becomes the error's `cause`. */
  signal?: AbortSignal | undefined;
  /** Given to bodies and gates as it is. Needed when a tool declares what it expects. */
  context?: Context | undefined;
  /** The run's state at its start, over what the agent declares: plain JSON. */
  state?: Readonly<Record<string, unknown>> | undefined;
  /** Default: a fresh one. A nested run has its caller's. */
  runId?: string | undefined;
  /** A run of its own, also inside a body: in places of its own, and not stopped with the body's call. */
  detached?: boolean | undefined;
  /** Told each event as it happens, those of nested runs included. */
  onEvent?: ((event: RunEvent) => void) | undefined;
}

/** The rest of the arguments of a run: options with a `context`, where the tools expect one. */
export type RunArguments<Context> = unknown extends Context
  ? [options?: RunOptions<Context>]
  : [options: RunOptions<Context> & { context: Context }];

const RUN_OPTIONS = [
  "tenant",
  "signal",
  "context",
  "state",
  "runId",
  "detached",
  "onEvent",
] as const satisfies readonly (keyof RunOptions)[];

/** @throws ConfigurationError (`CONFIGURATION`) for an unknown key or a value that could never work. */
export function checkRunOptions(options: RunOptions | undefined): RunOptions {
  if (options === undefined) return {};
  const given = checkOptions("run", options, RUN_OPTIONS);
  const { tenant, signal, state, runId, detached, onEvent } = given;
  for (const [name, text] of Object.entries({ tenant, runId })) {
    if (text !== undefined && (typeof text !== "string" || text === "")) {
      refuse(`run.${name}`, "a text that is not empty", text);
    }
  }
  checkSignal("run.signal", signal);
  checkFunction("run.onEvent", onEvent);
  if (detached !== undefined && typeof detached !== "boolean") refuse("run.detached", "true or false", detached);
  if (state !== undefined && (typeof state !== "object" || state === null || Array.isArray(state))) {
    refuse("run.state", "an object", state);
  }
  return given as RunOptions;
}
