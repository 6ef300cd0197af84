import { linkAbort } from "../base/abort-link.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { CancelledError, ConfigurationError } from "../base/errors.ts";
import { type Ids, systemIds } from "../base/ids.ts";
import {
  checkClock,
  checkFunction,
  checkList,
  checkMembers,
  checkOneOf,
  checkOptions,
  checkSignal,
  refuse,
} from "../base/option-checks.ts";
import { ConcurrencyConfig, type ConcurrencyOptions } from "../lanes/concurrency-config.ts";
import { currentPermit } from "../lanes/current-permit.ts";
import { Lanes } from "../lanes/lanes.ts";
import { callersOf } from "../lanes/nesting.ts";
import type { RunEvent } from "../protocol/event.ts";
import type { Approver, Guardrail, Hook } from "../protocol/gate.ts";
import type { ToolCall } from "../protocol/message.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolRegistry } from "../tools/tool-registry.ts";
import { Activity } from "./activity.ts";
import { DeadlineExceededError } from "./batch-errors.ts";
import { checkGates } from "./check-gates.ts";
import { checkToolNames } from "./check-tool-names.ts";
import { Closing } from "./closing.ts";
import { DeadlineConfig, type DeadlineOptions } from "./deadline-config.ts";
import { DeafBodies } from "./deaf-bodies.ts";
import { EventLog, liveOrder } from "./event-log.ts";
import { checkLimits, type LimitOptions } from "./limits.ts";
import { eventListeners, listenerOf } from "./listener.ts";
import { batchSideOf, type NestedRunner } from "./nested-runner.ts";
import { runCalls } from "./run-calls.ts";
import type { OnToolError, RunScope } from "./run-scope.ts";
import { RunState } from "./run-state.ts";
import { failure, Stop } from "./stop.ts";

/** What {@link runBatch} takes beside the calls. */
export interface BatchOptions<Context = unknown> {
  /** The tools that may be called: a list, or a registry. */
  // biome-ignore lint/suspicious/noExplicitAny: a list of tools holds tools of any arguments.
  tools: readonly Tool<any, Context>[] | ToolRegistry<Context>;
  /** Lanes that outlive the call and are shared with others. Default: the runner's, else lanes of this batch's own. */
  lanes?: Lanes | undefined;
  /** On whose behalf. Default: the tenant of the body that runs the batch, else `default`. */
  tenant?: string | undefined;
  /** Narrows this turn. Without shared lanes only what holds for one batch: no `perTool`, `perTenant`, `perResource`. */
  concurrency?: ConcurrencyOptions | ConcurrencyConfig | undefined;
  /** `runSeconds` and `toolCallSeconds` both bound the batch; the second stands still while people decide. */
  deadlines?: DeadlineOptions | DeadlineConfig | undefined;
  /** Default `surface_to_model`: a failed call is a result. `fail_run` stops the siblings (`Semantics 7.1`). */
  onToolError?: OnToolError | undefined;
  /** Stops the batch when it aborts. */
  signal?: AbortSignal | undefined;
  approver?: Approver | undefined;
  guardrails?: readonly Guardrail[] | undefined;
  hooks?: readonly Hook[] | undefined;
  /** Given to bodies and gates as it is. */
  context?: Context | undefined;
  /** What idempotency keys begin with: give the same again to repeat a batch. Default: a fresh one. */
  runId?: string | undefined;
  limits?: LimitOptions | undefined;
  /** Told each event as it happens. */
  onEvent?: ((event: RunEvent) => void) | undefined;
  /** Told what a listener threw. Default: dropped. */
  onError?: ((error: unknown) => void) | undefined;
  /** Lets bodies run agents with `ctx.run`. */
  runner?: NestedRunner | undefined;
  /** Default: the runner's, else the host's. */
  clock?: Clock | undefined;
  /** Gives the run's id when none is given. Default: the host's. */
  ids?: Ids | undefined;
}

const KNOWN = [
  "tools",
  "lanes",
  "tenant",
  "concurrency",
  "deadlines",
  "onToolError",
  "signal",
  "approver",
  "guardrails",
  "hooks",
  "context",
  "runId",
  "limits",
  "onEvent",
  "onError",
  "runner",
  "clock",
  "ids",
] as const satisfies readonly (keyof BatchOptions)[];

/**
 * Runs the tool calls of one model response: together, in lanes, with one result each in call order (`Semantics 2`).
 *
 * `calls` come from any vendor: `args` is an object, or its JSON text. Bad calls are results with status `error`, and
 * resolve beside the others. A call that needs somebody's decision and finds no `approver`, or whose tool has no body,
 * is `never_dispatched`: nothing here could take the decision up later.
 *
 * **Cancellation:** resolves in every ending, also after `signal` or a deadline: read each `status`. Bodies in flight see
 * `ctx.signal` abort, and are not waited for; what they hold they keep until they have ended (`Semantics 4.8`).
 *
 * @throws `CONFIGURATION` (as a rejection) for what could never work.
 * @example
 * const results = await runBatch(response.toolCalls, { tools: [search, booking], lanes, tenant: "acme" });
 * for (const { callId, content, status } of results) answer(callId, content, status !== "ok");
 */
export async function runBatch<Context = unknown>(
  calls: readonly ToolCall[],
  options: BatchOptions<Context> & (unknown extends Context ? unknown : { context: Context }),
): Promise<ToolResult[]> {
  const { scope, signal, runSeconds } = makeScope(calls, options as BatchOptions);
  const { stop, clock, deafBodies } = scope;
  const unlink =
    signal === undefined
      ? undefined
      : linkAbort(signal, () => {
          const error = new CancelledError("the batch was cancelled by its signal", { cause: signal.reason });
          stop.fire({ status: "cancelled", error, why: "the batch was cancelled" });
        });
  const timer =
    runSeconds === undefined
      ? undefined
      : clock.setTimer(runSeconds * 1000, () => {
          stop.fire(failure(new DeadlineExceededError("runSeconds", runSeconds)));
        });
  deafBodies.runStarted();
  scope.activity.begin("busy");
  try {
    const outcome = await runCalls(scope, { turn: 1, calls, seenIds: new Set() });
    await Promise.all(scope.nestedRuns);
    return outcome.results;
  } finally {
    scope.activity.end("busy");
    unlink?.();
    timer?.cancel();
    deafBodies.runSettled();
  }
}

function makeScope(
  calls: readonly ToolCall[],
  given: BatchOptions,
): { scope: RunScope; signal: AbortSignal | undefined; runSeconds: number | undefined } {
  checkList("calls", "an array of { id, name, args }", calls).forEach((call, at) => {
    if (typeof call !== "object" || call === null) refuse(`calls[${at}]`, "{ id, name, args }", call);
  });
  const options = checkOptions("runBatch", given, KNOWN) as unknown as BatchOptions;
  const { tenant = callersTenant() ?? "default", runId, context, signal, onToolError = "surface_to_model" } = options;
  if (typeof tenant !== "string" || tenant === "") refuse("runBatch.tenant", "a text that is not empty", tenant);
  if (runId !== undefined && (typeof runId !== "string" || runId === "")) {
    refuse("runBatch.runId", "a text that is not empty", runId);
  }
  checkSignal("runBatch.signal", signal);
  checkFunction("runBatch.onEvent", options.onEvent);
  checkFunction("runBatch.onError", options.onError);
  checkOneOf("runBatch.onToolError", onToolError, ["surface_to_model", "fail_run"]);
  if (options.tools === undefined) refuse("runBatch.tools", "an array of tools, or a registry", options.tools);
  const tools = options.tools instanceof ToolRegistry ? options.tools : new ToolRegistry(options.tools);
  const side = batchSideOf(options.runner);
  if (options.runner !== undefined && side === undefined) refuse("runBatch.runner", "an AgentRunner", options.runner);
  const { clock = side?.clock ?? systemClock, ids = systemIds } = options;
  checkClock("runBatch.clock", clock);
  checkMembers("runBatch.ids", ids, ["next"]);
  const narrowing = new ConcurrencyConfig(options.concurrency);
  checkToolNames("concurrency", narrowing, tools.names());
  const lanes = lanesOf(options, narrowing, side?.lanes, clock);
  const deadlines = new DeadlineConfig(options.deadlines);
  const gates = checkGates("runBatch", options);
  const report = listenerOf(options.onError, () => {});
  const id = runId ?? ids.next("run");
  const events = new EventLog({ runId: id, path: "0" }, clock, liveOrder(), eventListeners(options.onEvent, report));
  const scope: RunScope = {
    runId: id,
    path: "0",
    key: `${id}/0`,
    withdrawals: new Map(),
    wholeAbove: undefined,
    depth: 0,
    tenant,
    context,
    tools,
    lanes,
    narrowings: [narrowing],
    onToolError,
    dispatch: "after_gates",
    limits: checkLimits(options.limits),
    toolCallSeconds: deadlines.toolCallSeconds,
    clock,
    stop: new Stop(),
    closing: new Closing(),
    activity: new Activity(),
    events,
    state: new RunState(),
    usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
    ...gates,
    deafBodies: side?.deafBodies ?? DeafBodies.of(lanes, clock),
    nestedRuns: new Set(),
    canSuspend: false,
    recorder: undefined,
    history: undefined,
    startNested: side?.startNested,
    owner: undefined,
    report,
  };
  return { scope, signal, runSeconds: deadlines.runSeconds };
}

/** Whoever runs a batch in a body works on behalf of that body's tenant. */
function callersTenant(): string | undefined {
  for (const { givenBack, tenant } of callersOf(currentPermit())) if (!givenBack && tenant !== undefined) return tenant;
  return undefined;
}

/** A bound that several batches are to share cannot live in one of them. */
const SHARED_ONLY = ["perTool", "perTenant", "perResource"] as const;

function lanesOf(options: BatchOptions, narrowing: ConcurrencyConfig, runners: Lanes | undefined, clock: Clock): Lanes {
  const { lanes } = options;
  if (lanes !== undefined && !(lanes instanceof Lanes)) refuse("runBatch.lanes", "a Lanes", lanes);
  if (lanes !== undefined && runners !== undefined && lanes !== runners) {
    throw new ConfigurationError("runBatch.lanes: expected the lanes of the runner given beside them, got others");
  }
  const shared = lanes ?? runners;
  if (shared !== undefined) return shared;
  for (const field of SHARED_ONLY) {
    const declared = narrowing[field];
    if (declared === undefined || (typeof declared === "object" && Object.keys(declared).length === 0)) continue;
    throw new ConfigurationError(
      `concurrency.${field}: expected shared lanes beside it (\`lanes\` or \`runner\`), got none; it would bound this one batch only`,
    );
  }
  return new Lanes({}, { clock });
}
