import { type Clock, systemClock } from "../base/clock.ts";
import { ConfigurationError } from "../base/errors.ts";
import { type Ids, systemIds } from "../base/ids.ts";
import {
  checkClock,
  checkFunction,
  checkList,
  checkMembers,
  checkOneOf,
  checkOptions,
  refuse,
} from "../base/option-checks.ts";
import type { Random } from "../base/random.ts";
import { type CheckedGates, checkGates } from "../batch/check-gates.ts";
import { DeadlineConfig, type DeadlineOptions } from "../batch/deadline-config.ts";
import type { EventSink } from "../batch/event-log.ts";
import { checkLimits, type LimitOptions, type Limits } from "../batch/limits.ts";
import { eventListeners, listenerOf } from "../batch/listener.ts";
import type { Dispatch } from "../batch/run-scope.ts";
import type { Journal } from "../journal/journal.ts";
import { ConcurrencyConfig, type ConcurrencyOptions } from "../lanes/concurrency-config.ts";
import type { LaneStore } from "../lanes/lane-store.ts";
import { Lanes } from "../lanes/lanes.ts";
import type { RunEvent } from "../protocol/event.ts";
import type { Approver, Guardrail, Hook } from "../protocol/gate.ts";
import type { ModelProvider } from "../protocol/model.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolRegistry } from "../tools/tool-registry.ts";
import { Agent } from "./agent.ts";
import { checkProvider } from "./check-provider.ts";

/** What an `AgentRunner` is made of; everything may be left out. */
export interface RunnerOptions<Context = unknown> {
  /** Asked for every agent that has no provider of its own. */
  provider?: ModelProvider | undefined;
  /** The tools that agents may name, and have when they name none: a list, or a registry. */
  // biome-ignore lint/suspicious/noExplicitAny: a list of tools holds tools of any arguments.
  tools?: readonly Tool<any, Context>[] | ToolRegistry<Context> | undefined;
  /** Agents checked now, with everything they name. Others are checked at their first run. */
  agents?: readonly Agent<unknown, Context>[] | undefined;
  /** The bounds of the runner's lanes (`Semantics 4.1`). Not beside `lanes`. */
  concurrency?: ConcurrencyOptions | ConcurrencyConfig | undefined;
  /** Lanes shared with other runners, `runBatch` or tools of other frameworks. Default: the runner's own. */
  lanes?: Lanes | undefined;
  /**
   * Shares tenants', tools', resources' and identical arguments' lanes with whoever uses the same store (`Semantics 11.4`).
   * Not beside `lanes`, which have their own. Default: the lanes are this process's alone.
   */
  laneStore?: LaneStore | undefined;
  /** Ceilings on each run (`Semantics 7.4`). Default: none. */
  deadlines?: DeadlineOptions | DeadlineConfig | undefined;
  limits?: LimitOptions | undefined;
  /** Asked for each call that requires approval, one at a time. Without one such a call suspends its run. */
  approver?: Approver | undefined;
  /** Where runs that wait are kept, and what happens to every run is recorded. Default: suspended ones, in memory. */
  journal?: Journal | undefined;
  guardrails?: readonly Guardrail[] | undefined;
  hooks?: readonly Hook[] | undefined;
  /** Told each event of each run as it happens. What it throws goes to `onError`. */
  onEvent?: ((event: RunEvent) => void) | undefined;
  /**
   * Told what was thrown and is nobody's result: by a listener, a retry predicate, `reconcile`, or a journal when the run
   * has ended. Default: dropped.
   */
  onError?: ((error: unknown) => void) | undefined;
  /** Default: the host's. Lanes given as `lanes` keep their own. */
  clock?: Clock | undefined;
  /** Default: random UUIDs. */
  ids?: Ids | undefined;
  /** Default: the host's. Nothing here is left to chance so far. */
  random?: Random | undefined;
  /**
   * When calls go out (`Semantics 3.10`). Default `after_gates`: once all calls of the turn have passed theirs. `eager`:
   * each once it has passed its own and its phase allows, while later calls stand before their gates; where the provider
   * streams, calls of idempotent, parallel-safe tools also before the response is whole. Gates and results stay in call
   * order. The prices: a guardrail that ends the run may find calls in flight; and a stream must not take back a call
   * that went out, or the run fails.
   */
  dispatch?: Dispatch | undefined;
  /** Off: there is no loop monitor yet. */
  monitor?: null | undefined;
}

const KNOWN = [
  "provider",
  "tools",
  "agents",
  "concurrency",
  "lanes",
  "laneStore",
  "deadlines",
  "limits",
  "approver",
  "journal",
  "guardrails",
  "hooks",
  "onEvent",
  "onError",
  "clock",
  "ids",
  "random",
  "dispatch",
  "monitor",
] as const satisfies readonly (keyof RunnerOptions)[];

/** Of the runtime that this is to become; taken in silence they would promise what nothing keeps. */
const NOT_YET = ["workers", "telemetry"];

const JOURNAL = [
  "claim",
  "load",
  "begin",
  "settle",
  "append",
  "release",
  "pending",
] satisfies readonly (keyof Journal)[];

/** {@link RunnerOptions}, checked and complete. */
export interface CheckedRunner {
  readonly provider: ModelProvider | undefined;
  readonly tools: ToolRegistry;
  readonly agents: readonly Agent<unknown>[];
  readonly lanes: Lanes;
  readonly deadlines: DeadlineConfig;
  readonly limits: Limits;
  readonly gates: CheckedGates;
  readonly dispatch: Dispatch;
  /** The user's own; undefined when there is none. */
  readonly journal: Journal | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Never throws. */
  readonly sinks: readonly EventSink[];
  /** Never throws. */
  readonly report: (error: unknown) => void;
}

/** @throws ConfigurationError (`CONFIGURATION`) for every option that could never work, unknown ones included. */
export function checkRunner(given: RunnerOptions): CheckedRunner {
  const options = checkOptions("runner", given, [...KNOWN, ...NOT_YET]) as RunnerOptions;
  for (const [key, value] of Object.entries(options)) {
    if (NOT_YET.includes(key) && value !== undefined) {
      throw new ConfigurationError(`runner.${key}: expected nothing, since this is not here yet`);
    }
  }
  const {
    agents = [],
    lanes,
    laneStore,
    concurrency,
    dispatch = "after_gates",
    clock = systemClock,
    ids = systemIds,
  } = options;
  checkFunction("runner.onEvent", options.onEvent);
  checkFunction("runner.onError", options.onError);
  checkFunction("runner.random", options.random);
  checkOneOf("runner.dispatch", dispatch, ["after_gates", "eager"]);
  if (options.monitor !== undefined && options.monitor !== null) refuse("runner.monitor", "null", options.monitor);
  checkClock("runner.clock", clock);
  checkMembers("runner.ids", ids, ["next"]);
  if (options.journal !== undefined) checkMembers("runner.journal", options.journal, JOURNAL);
  if (lanes !== undefined && !(lanes instanceof Lanes)) refuse("runner.lanes", "a Lanes", lanes);
  if (lanes !== undefined && concurrency !== undefined) {
    throw new ConfigurationError(
      "runner.concurrency: expected it where the shared lanes are made, got it beside `lanes`",
    );
  }
  if (lanes !== undefined && laneStore !== undefined) {
    throw new ConfigurationError(
      "runner.laneStore: expected it where the shared lanes are made, got it beside `lanes`",
    );
  }
  if (laneStore !== undefined) checkMembers("runner.laneStore", laneStore, ["tryAcquire", "onFreed"]);
  const report = listenerOf(options.onError, () => {});
  const config = new ConcurrencyConfig(concurrency);
  return {
    provider: checkProvider("runner.provider", options.provider),
    tools: options.tools instanceof ToolRegistry ? options.tools : new ToolRegistry(options.tools),
    agents: checkAgents(agents),
    lanes: lanes ?? new Lanes(config, { clock, onError: report, ...(laneStore && { store: laneStore }) }),
    deadlines: new DeadlineConfig(options.deadlines),
    limits: checkLimits(options.limits),
    gates: checkGates("runner", options),
    dispatch,
    journal: options.journal,
    clock,
    ids,
    sinks: eventListeners(options.onEvent, report),
    report,
  };
}

function checkAgents(agents: readonly unknown[]): readonly Agent<unknown>[] {
  const names = new Set<string>();
  return checkList("runner.agents", "an array of agents", agents).map((agent, at) => {
    if (!(agent instanceof Agent)) refuse(`runner.agents[${at}]`, "an Agent", agent);
    if (names.has(agent.name)) refuse(`runner.agents[${at}].name`, "a name of its own", agent.name);
    names.add(agent.name);
    return agent as Agent<unknown>;
  });
}
