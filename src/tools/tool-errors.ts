import { shortReason } from "../base/describe-thrown.ts";
import { LanekeeperError } from "../base/errors.ts";
import { showValue } from "../base/show-value.ts";
import type { InputProblem } from "./tool.ts";

/** So many names or problems stand in a message; the rest is counted. */
const SHOWN = 20;
/** So much of one problem's text stands in a message. */
const LONGEST_PROBLEM = 300;

/** The errors of one call know their tool. */
class CallError extends LanekeeperError {
  static override readonly errorName: string = "CallError";

  /** The tool's name. */
  readonly tool: string;

  constructor(tool: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.tool = tool;
  }

  protected override details(): Record<string, unknown> {
    return { tool: this.tool };
  }
}

/** A model asked for a tool that is not there. The message names those that are (`Semantics 2.5`). */
export class ToolNotFoundError extends CallError {
  static override readonly errorName: string = "ToolNotFoundError";

  constructor(tool: unknown, known: readonly string[]) {
    const names = known.slice(0, SHOWN).map((name) => JSON.stringify(name));
    const there = known.length === 0 ? "there are none" : `the tools are ${listOf(names, known.length)}`;
    super(typeof tool === "string" ? tool : "", `no tool is named ${showValue(tool)}; ${there}`);
  }
}

/** A call's arguments are no JSON object, or do not fit the tool's schema; its body never ran (`Semantics 2.5`). */
export class ToolInputError extends CallError {
  static override readonly errorName: string = "ToolInputError";

  /** Everything that is wrong, with its place. */
  readonly problems: readonly InputProblem[];

  constructor(tool: string, problems: readonly InputProblem[], options?: { cause?: unknown }) {
    const shown = problems.slice(0, SHOWN).map(({ path, message }) => {
      const text = message.length > LONGEST_PROBLEM ? `${message.slice(0, LONGEST_PROBLEM)}…` : message;
      return path === "" ? text : `${path}: ${text}`;
    });
    super(tool, `${tool}: bad arguments: ${listOf(shown, problems.length, "; ")}`, options);
    this.problems = problems;
  }

  protected override details(): Record<string, unknown> {
    return { tool: this.tool, problems: this.problems.slice(0, SHOWN) };
  }
}

/** A body returned something that cannot become a result: circular, throwing, or a stream (`Semantics 2.6`). */
export class ToolOutputError extends CallError {
  static override readonly errorName: string = "ToolOutputError";

  constructor(tool: string, problem: string, options?: { cause?: unknown }) {
    super(tool, `${tool}: what it returned cannot become a result: ${problem}`, options);
  }
}

/**
 * A body threw; `cause` is what (`Semantics 2.7`).
 *
 * A body throws one itself with `mayHaveLanded: true` when it cannot know whether its side effect happened, such as
 * after a connection that was lost behind the request (`Semantics 7.3`).
 */
export class ToolFailedError extends LanekeeperError {
  static override readonly errorName: string = "ToolFailedError";

  /** The tool's name; absent on one that a body made. */
  readonly tool?: string;
  /** Whether the side effect may exist all the same. */
  readonly mayHaveLanded: boolean;

  constructor(message: string, options: { mayHaveLanded?: boolean; cause?: unknown; tool?: string } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    if (options.tool !== undefined) this.tool = options.tool;
    this.mayHaveLanded = options.mayHaveLanded === true;
  }

  protected override details(): Record<string, unknown> {
    return { ...(this.tool === undefined ? {} : { tool: this.tool }), mayHaveLanded: this.mayHaveLanded };
  }
}

/** A body outlived its tool's own ceiling, counted from its dispatch (`Semantics 7.2`). Raise it or speed the tool up. */
export class ToolTimedOutError extends CallError {
  static override readonly errorName: string = "ToolTimedOutError";

  /** The ceiling in seconds, as declared in `perToolSeconds`. */
  readonly ceilingSeconds: number;

  constructor(tool: string, ceilingSeconds: number) {
    super(tool, `${tool} took longer than its ceiling of ${ceilingSeconds} s`);
    this.ceilingSeconds = ceilingSeconds;
  }

  protected override details(): Record<string, unknown> {
    return { tool: this.tool, ceilingSeconds: this.ceilingSeconds };
  }
}

/** Somebody, a guardrail or a hook refused the call; its body never ran (`Semantics 3.3`). */
export class ToolDeniedError extends CallError {
  static override readonly errorName: string = "ToolDeniedError";

  /** Why; never empty. */
  readonly reason: string;

  constructor(tool: string, reason?: string, options?: { cause?: unknown }) {
    const why = reason === undefined || reason.trim() === "" ? "no reason was given" : shortReason(reason);
    super(tool, `denied: ${why}`, options);
    this.reason = why;
  }

  protected override details(): Record<string, unknown> {
    return { tool: this.tool, reason: this.reason };
  }
}

/** The call was stopped before its body started, or in flight although it is safe to call again (`Semantics 8`). */
export class ToolStoppedError extends CallError {
  static override readonly errorName: string = "ToolStoppedError";
}

/** The call was stopped in flight and its side effect may have landed (`Semantics 8`). Find out before calling again. */
export class ToolIndeterminateError extends CallError {
  static override readonly errorName: string = "ToolIndeterminateError";
}

/**
 * A body held the event loop, and every sibling with it, for longer than the loop monitor allows (`Semantics 9.2`).
 *
 * Its own call fails; siblings are credited with the stall. Let the tool run on a worker pool, or break its work up.
 */
export class EventLoopStalledError extends CallError {
  static override readonly errorName: string = "EventLoopStalledError";

  /** How long the loop stood still. */
  readonly stalledSeconds: number;
  /** File and line at which it stood, where that could be found out. */
  readonly where?: string;

  constructor(tool: string, stalledSeconds: number, where?: string) {
    const at = where === undefined ? "" : ` at ${where}`;
    super(tool, `${tool} held the event loop for ${Math.round(stalledSeconds * 1000) / 1000} s${at}`);
    this.stalledSeconds = stalledSeconds;
    if (where !== undefined) this.where = where;
  }

  protected override details(): Record<string, unknown> {
    const { tool, stalledSeconds, where } = this;
    return { tool, stalledSeconds, ...(where === undefined ? {} : { where }) };
  }
}

/** How much a worker pool has to do. */
export interface WorkersPressure {
  /** How many threads it has. */
  readonly size: number;
  /** How many calls wait for one. */
  readonly queued: number;
  /** How long the oldest of them has waited. */
  readonly longestWaitSeconds: number;
}

/**
 * A call found no thread of its worker pool: the pool's queue was full, or the call waited in it for longer than
 * `queueSeconds` (`Semantics 9.1`).
 *
 * It was never dispatched. Raise the pool's size or its queue's bound, or bound the tool by a lane.
 */
export class WorkersBusyError extends CallError implements WorkersPressure {
  static override readonly errorName: string = "WorkersBusyError";

  readonly size: number;
  readonly queued: number;
  readonly longestWaitSeconds: number;

  constructor(tool: string, { size, queued, longestWaitSeconds }: WorkersPressure) {
    const longest = Math.round(longestWaitSeconds * 1000) / 1000;
    super(tool, `${tool}: expected a free thread of ${size}, got ${queued} calls waiting, the oldest for ${longest} s`);
    this.size = size;
    this.queued = queued;
    this.longestWaitSeconds = longestWaitSeconds;
  }

  protected override details(): Record<string, unknown> {
    const { tool, size, queued, longestWaitSeconds } = this;
    return { tool, size, queued, longestWaitSeconds };
  }
}

/** `a, b and 3 more`. */
function listOf(shown: readonly string[], all: number, between = ", "): string {
  return all > shown.length ? `${shown.join(between)} and ${all - shown.length} more` : shown.join(between);
}
