import { CancelledError, ConfigurationError } from "../base/errors.ts";
import { checkOptions, readable, refuse } from "../base/option-checks.ts";
import { Activity } from "../batch/activity.ts";
import { checkToolNames } from "../batch/check-tool-names.ts";
import { Closing } from "../batch/closing.ts";
import { currentAttempt } from "../batch/current-call.ts";
import { DeafBodies } from "../batch/deaf-bodies.ts";
import { EventLog, type EventSink, liveOrder } from "../batch/event-log.ts";
import { eventListeners } from "../batch/listener.ts";
import { type NestedRunner, showBatchSide } from "../batch/nested-runner.ts";
import { refusedInBody } from "../batch/refused-in-body.ts";
import type { NestingCall, RunScope, StartNested } from "../batch/run-scope.ts";
import { RunState } from "../batch/run-state.ts";
import { failure, Stop } from "../batch/stop.ts";
import { History } from "../journal/history.ts";
import type { Claim, PendingFilter } from "../journal/journal.ts";
import type { JournalEntry, RunBegun } from "../journal/journal-entry.ts";
import { type ConcurrencyChanges, type ConcurrencyConfig, changedConfig } from "../lanes/concurrency-config.ts";
import { outsidePermits } from "../lanes/current-permit.ts";
import type { LaneSnapshot } from "../lanes/snapshot.ts";
import type { PendingCall } from "../protocol/gate.ts";
import type { Message } from "../protocol/message.ts";
import type { ModelProvider } from "../protocol/model.ts";
import type { ToolRegistry } from "../tools/tool-registry.ts";
import { addUsage } from "./add-usage.ts";
import { Agent } from "./agent.ts";
import { toolsOf } from "./agent-tools.ts";
import { checkDecisions } from "./check-decisions.ts";
import { Execution } from "./execution.ts";
import { readInput } from "./read-input.ts";
import { checkResumeOptions, type ResumeArguments, type ResumeOptions } from "./resume-options.ts";
import type { Run } from "./run.ts";
import { checkRunOptions, type RunArguments, type RunOptions } from "./run-options.ts";
import { RunStream } from "./run-stream.ts";
import { type CheckedRunner, checkRunner, type RunnerOptions } from "./runner-options.ts";
import { SuspendedRuns } from "./suspended-runs.ts";

/** How long `close` lets runs go on when nothing is said. */
const DEFAULT_DRAIN_SECONDS = 10;

/** What begins a run: it stands when this returns, and works when it is called. */
interface Prepared {
  readonly execution: Execution;
  start(): Promise<Run<unknown>>;
}

/**
 * Runs agents: asks their models, runs what those ask for in lanes, and gives back one transcript (`Semantics 2`).
 *
 * One runner serves any number of runs at once; its lanes bound them together. A run started in a tool's body is nested:
 * it works on the places of the body's call, and stops with it (`Semantics 4.6`).
 *
 * `Context` is what the tools expect as `context`; each run must be given it.
 *
 * @example
 * const runner = new AgentRunner({ provider, tools: [search], concurrency: { perTool: { search: 4 } } });
 * const run = await runner.run(planner, "Four nights near Kyoto.", { tenant: "acme" });
 * if (run.status === "completed") console.log(run.output);
 */
export class AgentRunner<Context = unknown> implements NestedRunner {
  readonly #parts: CheckedRunner;
  readonly #deafBodies: DeafBodies;
  readonly #toolsOf = new WeakMap<Agent<unknown>, ToolRegistry>();
  /** Ids of the outermost runs at work. */
  readonly #idsAtWork = new Set<string>();
  /** Runs that nobody else's run on this runner holds, and that have not settled. */
  readonly #active = new Set<Execution>();
  readonly #suspended: SuspendedRuns;
  #isClosed = false;
  #closing: Promise<void> = Promise.resolve();
  readonly #startNested: StartNested = (call, agent, input, given, isContinued) => {
    try {
      return readable("ctx.run", () => this.#nest(call, agent, input, given, undefined, isContinued)).start();
    } catch (error) {
      return refusedInBody(error);
    }
  };

  /** @throws ConfigurationError (`CONFIGURATION`) for every option that could never work, unknown ones included. */
  constructor(options: RunnerOptions<Context> = {}) {
    this.#parts = readable("runner", () => checkRunner(options as RunnerOptions));
    const { clock, lanes, agents, journal, report } = this.#parts;
    this.#suspended = new SuspendedRuns(journal, report);
    this.#deafBodies = DeafBodies.of(lanes, clock);
    for (const agent of agents) this.#tools(agent);
    // Lanes that are shared may bound tools of others.
    if (options.lanes === undefined) checkToolNames("concurrency", lanes.config, this.#toolNames());
    showBatchSide(this, { lanes, clock, deafBodies: this.#deafBodies, startNested: this.#startNested });
  }

  /**
   * Runs an agent to its end (`Semantics 2.1`). `input` is a text, or a conversation to go on with.
   *
   * **Cancellation:** `signal` settles the run at once, as `cancelled`: calls in flight are told apart from those that
   * never went out (`Semantics 8`), their signals abort, and nobody waits for bodies that do not listen.
   *
   * @throws ConfigurationError (`CONFIGURATION`), as a rejection, for what could never work: the one way to reject. What
   * happens inside a run resolves: read `status`.
   */
  run<Output, AgentContext>(
    agent: Agent<Output, AgentContext>,
    input: string | readonly Message[],
    ...[options]: RunArguments<Context & AgentContext>
  ): Promise<Run<Output>> {
    try {
      const { start } = readable("run", () =>
        this.#prepare(agent as Agent<unknown>, input, options as RunOptions | undefined),
      );
      return start() as Promise<Run<Output>>;
    } catch (error) {
      return currentAttempt()?.isOpen === true ? refusedInBody(error) : Promise.reject(error);
    }
  }

  /**
   * The same, told as it happens: events in live order, with text deltas where the provider streams.
   *
   * @throws ConfigurationError (`CONFIGURATION`), at once, for what could never work.
   */
  stream<Output, AgentContext>(
    agent: Agent<Output, AgentContext>,
    input: string | readonly Message[],
    ...[options]: RunArguments<Context & AgentContext>
  ): RunStream<Output> {
    return new RunStream<Output>((sink) => {
      const { execution, start } = readable("stream", () =>
        this.#prepare(agent as Agent<unknown>, input, options as RunOptions | undefined, sink),
      );
      const cancel = (): void => {
        const error = new CancelledError("the run was cancelled: its stream was left");
        execution.cancel({ status: "cancelled", error, why: "the run was cancelled" });
      };
      return { run: start() as Promise<Run<Output>>, cancel };
    });
  }

  /**
   * Goes on with a suspended run (`Semantics 3.6`): calls with a decision do as it says, the others wait on.
   *
   * Finished calls are not run again, and gates that ran are not asked again. `events` are those from the resume on;
   * `messages`, `results`, `usage` and `state` are the whole run's. The agent is found by its name among `agents`. Without
   * a `journal` a run can be resumed on the runner that suspended it.
   *
   * @throws ConfigurationError (`CONFIGURATION`), as a rejection, for a run that does not wait, an agent that is not among
   * `agents`, and decisions for calls that do not wait: then nothing has changed. JournalError (`JOURNAL`) while somebody
   * else works on the run, or when the journal fails.
   */
  async resume(runId: string, ...[options]: ResumeArguments<Context>): Promise<Run<unknown>> {
    const given = readable("resume", () => checkResumeOptions(runId, options as ResumeOptions | undefined));
    this.#checkOpen();
    const claim = await this.#suspended.claim(runId);
    let execution: Execution;
    try {
      const entries = await this.#suspended.load(claim);
      // It may have been closed while the journal was asked.
      this.#checkOpen();
      execution = this.#restore(claim, entries, given);
    } catch (error) {
      await this.#suspended.letGo(claim);
      throw error;
    }
    this.#keep(execution);
    // Whoever resumes in a body does not make the run its own: it stands where it stood.
    return outsidePermits(() => execution.start());
  }

  /**
   * Every call that waits for somebody, of runs that nobody works on.
   *
   * @throws ConfigurationError (`CONFIGURATION`) for an unknown key.
   */
  pending(filter: PendingFilter = {}): AsyncIterable<PendingCall> {
    const { tenant } = checkOptions("pending", filter, ["tenant"]);
    if (tenant !== undefined && typeof tenant !== "string") refuse("pending.tenant", "a text", tenant);
    return this.#suspended.journal.pending(tenant === undefined ? {} : { tenant });
  }

  /** Every lane that is declared, used or waited for, at this moment (`Semantics 4.9`). */
  lanes(): LaneSnapshot[] {
    return this.#parts.lanes.snapshot();
  }

  /**
   * Changes bounds and ceilings while runs go on: only what is named changes (`Semantics 4.9`).
   *
   * Raising a bound wakes waiting calls at once; lowering one stops nobody.
   *
   * @throws ConfigurationError (`CONFIGURATION`), and then nothing has changed.
   */
  configure(changes: ConcurrencyChanges): void {
    const { lanes } = this.#parts;
    checkToolNames("concurrency", changedConfig(lanes.config, changes), this.#toolNames(lanes.config));
    lanes.configure(changes);
  }

  /**
   * Ends the runner: new runs are refused from now on, those that go on may take `drainSeconds` (default 10; 0 for none),
   * and are then cancelled. Resolves when all have settled. Closing twice is closing once.
   *
   * @throws ConfigurationError (`CONFIGURATION`), as a rejection, for a drain that is no duration.
   */
  close(options: { drainSeconds?: number } = {}): Promise<void> {
    try {
      const { drainSeconds = DEFAULT_DRAIN_SECONDS } = checkOptions("close", options, ["drainSeconds"]);
      if (typeof drainSeconds !== "number" || !(drainSeconds >= 0)) {
        refuse("close.drainSeconds", "a number of seconds, 0 or more", drainSeconds);
      }
      // Refused from now on, also to whoever hears of the runs that this cancels.
      const isFirst = !this.#isClosed;
      this.#isClosed = true;
      if (isFirst) this.#closing = Promise.resolve().then(() => this.#close(drainSeconds));
      return this.#closing;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The same as {@link AgentRunner.close} with its defaults, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drainSeconds: number): Promise<void> {
    const drained = Promise.all(Array.from(this.#active, ({ settled }) => settled));
    if (this.#active.size > 0) {
      const cancel = (): void => {
        const error = new CancelledError("the run was cancelled: its runner was closed");
        for (const execution of this.#active) {
          execution.cancel({ status: "cancelled", error, why: "the runner was closed" });
        }
      };
      if (drainSeconds === 0) cancel();
      const isBounded = drainSeconds > 0 && drainSeconds < Number.POSITIVE_INFINITY;
      const timer = isBounded ? this.#parts.clock.setTimer(drainSeconds * 1000, cancel) : undefined;
      await drained;
      timer?.cancel();
    }
  }

  /** A run as it was when it was suspended, with what was decided since. */
  #restore(claim: Claim, entries: readonly JournalEntry[], given: ResumeOptions): Execution {
    const { runId } = claim;
    const decided = checkDecisions(new History(entries), given.decisions ?? {});
    const history = new History([...entries, ...decided]);
    const begun = history.run("0")?.begun;
    const agent = this.#parts.agents.find(({ name }) => name === begun?.agent);
    if (begun === undefined || agent === undefined) {
      const names = this.#parts.agents.map(({ name }) => name).join(", ");
      refuse("runner.agents", `the agent of run ${JSON.stringify(runId)} among them`, begun?.agent ?? names);
    }
    const plan = continued(this.#plan(agent, "", {}), begun);
    const execution = this.#outermost(plan, given, { runId, tenant: begun.tenant, claim, history });
    for (const line of decided) execution.scope.recorder?.append(line);
    return execution;
  }

  /** A run that stands below none. */
  #outermost(
    plan: RunPlan,
    given: RunOptions | ResumeOptions,
    { runId, tenant, claim, history }: { runId: string; tenant: string; claim?: Claim; history?: History },
    sink?: EventSink,
  ): Execution {
    const { clock, sinks } = this.#parts;
    const all = [...sinks, ...this.#sinks(given, sink)];
    const events = new EventLog({ runId, path: "0" }, clock, liveOrder(), all);
    const recorder = this.#suspended.recorder(runId, claim, (error) => execution.cancel(failure(error)));
    const place = {
      runId,
      path: "0",
      key: `${runId}/0`,
      withdrawals: new Map(history?.run("0")?.withdrawals),
      wholeAbove: undefined,
      depth: 0,
      tenant,
      context: given.context,
      activity: new Activity(),
      events,
      recorder,
      history,
      canSuspend: true,
      narrowings: [],
      isOutermost: true,
    };
    const execution = this.#execution(plan, given, place, sink !== undefined);
    return execution;
  }

  #prepare(agent: Agent<unknown>, input: unknown, options: RunOptions | undefined, sink?: EventSink): Prepared {
    const given = checkRunOptions(options);
    const caller = currentAttempt();
    if (caller?.isOpen === true && given.detached !== true) {
      return this.#nest(caller, agent, input, given, sink);
    }
    this.#checkOpen();
    const plan = this.#plan(agent, input, given);
    const { tenant = "default", runId = this.#parts.ids.next("run") } = given;
    // Two at once would share their exclusive lane, and each other's idempotency keys.
    if (this.#idsAtWork.has(runId) || this.#suspended.hasInMemory(runId))
      refuse("run.runId", "an id of its own, or none", runId);
    // Detached, or in what a settled call left behind: nobody lends it a place (`Semantics 2.8`).
    const execution = outsidePermits(() => this.#outermost(plan, given, { runId, tenant }, sink));
    this.#idsAtWork.add(runId);
    void execution.settled.then(() => this.#idsAtWork.delete(runId));
    const start = (): Promise<Run<unknown>> => {
      this.#keep(execution);
      return execution.start();
    };
    return { execution, start: () => outsidePermits(start) };
  }

  #checkOpen(): void {
    if (this.#isClosed) {
      throw new ConfigurationError("runner: expected one that is open, got one that was closed");
    }
  }

  /** `close` waits for it from now on. */
  #keep(execution: Execution): void {
    this.#active.add(execution);
    void execution.settled.then(() => this.#active.delete(execution));
  }

  /**
   * A run below a call: in its places and its tenant, stopped with it. One that is continued goes on where it was when
   * its outermost run was suspended; of others nothing is kept, since the body that ran them is run again.
   */
  #nest(
    call: NestingCall,
    agent: unknown,
    input: unknown,
    options: RunOptions,
    sink?: EventSink,
    isContinued = false,
  ): Prepared {
    const given = checkRunOptions(options);
    const { runId, tenant, depth, events, usage, context, recorder } = call.scope;
    // Below a batch, or a call of another runner, this runner's own do not know of it.
    const isOwn = call.scope.owner === this;
    if (!isOwn) this.#checkOpen();
    if (given.runId !== undefined && given.runId !== runId) {
      refuse("run.runId", "none in a nested run, which has its caller's", given.runId);
    }
    if (given.detached === true) refuse("ctx.run.detached", "none: a detached run is runner.run's", true);
    if (given.tenant !== undefined && given.tenant !== tenant) {
      refuse("run.tenant", `the caller's, ${JSON.stringify(tenant)}, or none`, given.tenant);
    }
    const { maxDepth } = this.#parts.limits;
    if (depth >= maxDepth) {
      throw new ConfigurationError(`limits.maxDepth: expected at most ${maxDepth} runs above one, got one more`);
    }
    const fresh = this.#plan(agent, input, given);
    const path = call.nextNestedPath();
    const history = isContinued ? call.scope.history : undefined;
    const begun = history?.run(path)?.begun;
    const plan = begun === undefined ? fresh : continued(fresh, begun);
    const place = {
      runId,
      path,
      key: call.nestedKey,
      withdrawals: new Map(history?.run(path)?.withdrawals),
      wholeAbove: call.whole,
      depth: depth + 1,
      tenant,
      context: "context" in given ? given.context : context,
      activity: new Activity(call.activity),
      events: events.nest({ path }, call.section, [...(isOwn ? [] : this.#parts.sinks), ...this.#sinks(given, sink)]),
      recorder: isContinued ? recorder : undefined,
      history,
      canSuspend: !isContinued || call.scope.canSuspend,
      narrowings: call.scope.narrowings,
      isOutermost: !isOwn,
      above: call.scope.closing,
    };
    const execution = this.#execution(plan, given, place, sink !== undefined);
    const start = (): Promise<Run<unknown>> => {
      if (!isOwn) this.#keep(execution);
      const settled = execution.settled.then((nested) => {
        addUsage(usage, nested.usage);
        // A run that waits and is continued tells what it took when it is resumed.
        if (isContinued && nested.status === "suspended") return;
        const below = isContinued ? { below: path } : {};
        recorder?.append({ kind: "usage_spent", path: call.scope.path, usage: nested.usage, ...below });
      });
      // Tied before it starts: its first event may bring the call's verdict about.
      call.attach({ cancel: (reason) => execution.cancel(reason), settled });
      // Code below the body is in the call's places already, or in some that are nested in those.
      return currentAttempt() === call ? execution.start() : call.enter(() => execution.start());
    };
    return { execution, start };
  }

  /** What is to be run, checked as a whole before anything of it stands. */
  #plan(agent: unknown, input: unknown, { state }: RunOptions): RunPlan {
    if (!(agent instanceof Agent)) refuse("agent", "an Agent", agent);
    const provider = agent.provider ?? this.#parts.provider;
    if (provider === undefined) {
      throw new ConfigurationError(
        `agent ${JSON.stringify(agent.name)}.provider: expected one there or on the runner, got neither`,
      );
    }
    return {
      agent: agent as Agent<unknown>,
      provider,
      tools: this.#tools(agent as Agent<unknown>),
      messages: readInput(input),
      state: new RunState(agent.state, state as Record<string, unknown> | undefined),
    };
  }

  #execution(
    { agent, provider, tools, messages, state }: RunPlan,
    { signal }: RunOptions | ResumeOptions,
    place: Place,
    streams: boolean,
  ): Execution {
    const { lanes, limits, deadlines, dispatch, clock, gates, report } = this.#parts;
    const { isOutermost } = place;
    // Member by member: every run has one, and an object put together from others costs it many times as much.
    const scope: RunScope = {
      runId: place.runId,
      path: place.path,
      key: place.key,
      withdrawals: place.withdrawals,
      wholeAbove: place.wholeAbove,
      depth: place.depth,
      tenant: place.tenant,
      context: place.context,
      activity: place.activity,
      events: place.events,
      recorder: place.recorder,
      history: place.history,
      canSuspend: place.canSuspend,
      approver: gates.approver,
      guardrails: gates.guardrails,
      hooks: gates.hooks,
      tools,
      lanes,
      limits,
      clock,
      state,
      report,
      narrowings: [...place.narrowings, agent.concurrency],
      onToolError: agent.onToolError,
      dispatch,
      toolCallSeconds: deadlines.toolCallSeconds,
      stop: new Stop(),
      closing: new Closing(place.above),
      usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
      deafBodies: this.#deafBodies,
      nestedRuns: new Set(),
      startNested: this.#startNested,
      owner: this,
    };
    return new Execution({ scope, agent, provider, deadlines, messages, signal, isOutermost, streams });
  }

  #sinks({ onEvent }: RunOptions | ResumeOptions, sink: EventSink | undefined): EventSink[] {
    const sinks = eventListeners(onEvent, this.#parts.report);
    return sink === undefined ? sinks : [...sinks, sink];
  }

  #tools(agent: Agent<unknown>): ToolRegistry {
    let tools = this.#toolsOf.get(agent);
    if (tools === undefined) {
      tools = toolsOf(agent, this.#parts.tools, this.#ownTools());
      this.#toolsOf.set(agent, tools);
    }
    return tools;
  }

  /** Names of the tools that agents bring along themselves. */
  *#ownTools(): Generator<string> {
    for (const { tools = [] } of this.#parts.agents)
      for (const tool of tools) if (typeof tool !== "string") yield tool.name;
  }

  /** Every tool that a bound may name; what is bounded already was right when it was declared. */
  #toolNames(bounded?: ConcurrencyConfig): Set<string> {
    const names = new Set(this.#parts.tools.names());
    for (const name of this.#ownTools()) names.add(name);
    for (const field of ["perTool", "perToolSeconds"] as const) {
      for (const name of Object.keys(bounded?.[field] ?? {})) names.add(name);
    }
    return names;
  }
}

/** What a run is made from. */
interface RunPlan {
  readonly agent: Agent<unknown>;
  readonly provider: ModelProvider;
  readonly tools: ToolRegistry;
  readonly messages: Message[];
  readonly state: RunState;
}

/** The plan of a run that goes on where it stood. */
function continued(plan: RunPlan, { messages, state }: RunBegun): RunPlan {
  return { ...plan, messages, state: new RunState(plan.agent.state, state) };
}

/** Where a run stands. */
interface Place
  extends Pick<
    RunScope,
    | "runId"
    | "path"
    | "key"
    | "withdrawals"
    | "wholeAbove"
    | "depth"
    | "tenant"
    | "context"
    | "activity"
    | "events"
    | "recorder"
    | "history"
    | "canSuspend"
    | "narrowings"
  > {
  /** Whether no run of this runner stands above. */
  readonly isOutermost: boolean;
  /** Of the run above. */
  readonly above?: Closing;
}
