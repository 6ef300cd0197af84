/**
 * Plays a plan: makes the runner that it describes, lets happen what it says when it says so, and watches.
 *
 * Owns bodies, models, gates and time; what must be true is `simulation-watch.ts`'s.
 *
 * Each list of turns in a plan is a script with a number. A run is asked with its script's number, and its calls carry it
 * in their ids, so that model, gates and bodies find what they are to do wherever the runtime calls them from.
 */
import { createHash } from "node:crypto";
import type { Timer } from "../base/clock.ts";
import { describeThrown } from "../base/describe-thrown.ts";
import { LanekeeperError } from "../base/errors.ts";
import type { RunEvent } from "../protocol/event.ts";
import type { Approver, Decision, GateContext, Guardrail, Hook, PendingCall } from "../protocol/gate.ts";
import type { ToolCall } from "../protocol/message.ts";
import type { ModelCall, ModelDelta, ModelProvider, ModelRequest, ModelResponse } from "../protocol/model.ts";
import { Agent } from "../runner/agent.ts";
import { AgentRunner } from "../runner/agent-runner.ts";
import { agentTool } from "../runner/agent-tool.ts";
import type { Run } from "../runner/run.ts";
import type { RunnerOptions } from "../runner/runner-options.ts";
import { defineTool } from "../tools/define-tool.ts";
import type { Tool } from "../tools/tool.ts";
import type { RunLike, ToolContext } from "../tools/tool-context.ts";
import { checkRequest } from "./check-request.ts";
import { FakeClock } from "./fake-clock.ts";
import { leakCheck } from "./leak-check.ts";
import { say } from "./responses.ts";
import { SequentialIds } from "./sequential-ids.ts";
import type { SimulationCounts } from "./simulation-counts.ts";
import type {
  PlannedCall,
  PlannedCancel,
  PlannedGate,
  PlannedNested,
  PlannedRun,
  PlannedTurn,
  SimulatedTool,
  SimulationPlan,
} from "./simulation-plan.ts";
import { isAlone, type SimulationViolation, SimulationWatch } from "./simulation-watch.ts";
import { TestingError } from "./testing-error.ts";

/** Makes the runner that is simulated, from the options that a plan stands for. */
export type MakeRunner = (options: RunnerOptions & { tools: readonly Tool[]; provider: ModelProvider }) => AgentRunner;

/** What came of a plan. */
export interface Played {
  readonly steps: number;
  readonly counts: SimulationCounts;
  /** Of everything that was told, in live order, and of every transcript and result. */
  readonly digest: string;
  readonly violation: SimulationViolation | undefined;
}

/** Moves of time after which a world is said not to end. */
const MOST_MOVES = 100_000;

/** Plays a plan to its end, or to the first rule that is broken. */
export async function play(plan: SimulationPlan, makeRunner?: MakeRunner): Promise<Played> {
  return new World(plan, makeRunner ?? ((options) => new AgentRunner(options))).play();
}

class World {
  readonly #plan: SimulationPlan;
  readonly #clock = new FakeClock();
  readonly #runner: AgentRunner;
  readonly #watch: SimulationWatch;
  readonly #agents = new Map<string, Agent>();
  readonly #digest = createHash("sha256");
  /** The turns of each script, by its number. */
  readonly #scripts: (readonly PlannedTurn[])[] = [];
  readonly #numbers = new Map<object, number>();
  /** Cancels that an event sets off, and how many of its kind are still to come. */
  readonly #cancels: (PlannedCancel & { left: number; readonly abort: () => void })[] = [];
  /** What must settle before the world is at its end. */
  #open = 0;

  constructor(plan: SimulationPlan, makeRunner: MakeRunner) {
    this.#plan = plan;
    for (const run of plan.runs ?? []) this.#number(run);
    for (const name of new Set(["main", ...Object.keys(plan.agents ?? {})])) {
      this.#agents.set(name, new Agent({ name, model: "simulated", freeText: true, ...plan.agents?.[name] }));
    }
    this.#runner = makeRunner({
      provider: this.#provider(),
      tools: Object.entries(plan.tools ?? {}).map(([name, tool]) => this.#tool(name, tool)),
      agents: [...this.#agents.values()],
      dispatch: plan.dispatch ?? "after_gates",
      limits: { maxDepth: plan.maxDepth ?? 8 },
      ...(plan.concurrency === undefined ? {} : { concurrency: plan.concurrency }),
      ...(plan.deadlines === undefined ? {} : { deadlines: plan.deadlines }),
      approver: this.#approver,
      guardrails: [this.#guardrail],
      hooks: [this.#hook],
      clock: this.#clock,
      ids: new SequentialIds(),
      onEvent: (event) => this.#hear(event),
      onError: (error) => this.#watch.fail("2.12", `something was thrown at nobody: ${describeThrown(error)}`),
    });
    this.#watch = new SimulationWatch(
      plan,
      () => this.#runner.lanes(),
      () => this.#clock.monotonic(),
    );
  }

  async play(): Promise<Played> {
    const clock = this.#clock;
    const leaks = leakCheck(this.#runner, { clock });
    for (const run of this.#plan.runs ?? []) this.#plant(run, leaks);
    for (const { at = 0, concurrency = {} } of this.#plan.changes ?? []) {
      clock.setTimer(at, () => {
        this.#runner.configure(concurrency);
        this.#watch.configured(concurrency);
      });
    }
    await this.#passTime();
    if (this.#watch.violation === undefined) {
      if (this.#open > 0) this.#watch.fail("2.8", `nothing moves any more: ${this.#watch.open().join("; ")}`);
      else this.#watch.end();
    }
    await leaks.done().catch((error: unknown) => {
      const found = error instanceof TestingError ? error.problems.join("; ") : describeThrown(error);
      this.#watch.fail("4.10", `something was left behind: ${found}`);
    });
    const { steps, counts, violation } = this.#watch;
    counts.worlds = 1;
    return { steps, counts, violation, digest: this.#digest.digest("hex").slice(0, 16) };
  }

  /** From one due timer to the next, until none is left. */
  async #passTime(): Promise<void> {
    await this.#clock.settle();
    for (let moves = 0; this.#watch.violation === undefined; moves++) {
      this.#watch.quiet();
      const [next] = this.#clock.pendingTimers();
      if (next === undefined) return;
      if (moves === MOST_MOVES) return this.#watch.fail("2.8", `time moved ${moves} times, and it does not end`);
      await this.#clock.advance(Math.max(0, next.dueInSeconds));
    }
  }

  // ---- runs ----

  #plant(planned: PlannedRun, leaks: { watch(signal: AbortSignal): void }): void {
    const { at = 0, tenant = "default", agent, cancel } = planned;
    const script = this.#number(planned);
    const runId = `r${script}`;
    const controller = new AbortController();
    leaks.watch(controller.signal);
    const abort = (): void => {
      if (controller.signal.aborted) return;
      this.#watch.cancelling(runId);
      controller.abort(new Error("cancelled"));
    };
    if (cancel?.at !== undefined) this.#clock.setTimer(cancel.at, abort);
    else if (cancel?.on !== undefined) this.#cancels.push({ ...cancel, left: cancel.nth ?? 1, abort });
    this.#open++;
    this.#clock.setTimer(at, () => {
      const options = { tenant, runId, signal: controller.signal };
      const running =
        planned.stream === undefined
          ? this.#runner.run(this.#agentOf(agent), inputOf(script), options)
          : this.#streamed(planned, script, options);
      void this.#through(running as Promise<Run<unknown>>, controller.signal).then(() => void this.#open--);
    });
  }

  async #streamed(
    { agent, stream }: PlannedRun,
    script: number,
    options: { tenant: string; runId: string; signal: AbortSignal },
  ): Promise<Run<unknown>> {
    const streaming = this.#runner.stream(this.#agentOf(agent), inputOf(script), options);
    let heard = 0;
    for await (const _ of streaming) if (typeof stream === "number" && ++heard >= stream) break;
    return streaming.run;
  }

  /** Sees a run through: while it is suspended, somebody decides and it is resumed. */
  async #through(running: Promise<Run<unknown>>, signal?: AbortSignal): Promise<void> {
    try {
      let run = await running;
      this.#settled(run);
      for (let resumes = 0; run.status === "suspended"; resumes++) {
        if (resumes > 100) return this.#watch.fail("3.6", `${run.id} is suspended again and again`);
        const laterAfter = Math.min(...run.pending.map((pending) => this.#suspending(pending).laterAfter ?? 0));
        await this.#pause(laterAfter);
        const decisions: Record<string, Decision> = {};
        for (const pending of run.pending) {
          // Who is not ready yet says nothing, so that the rest waits on.
          if ((this.#suspending(pending).laterAfter ?? 0) <= laterAfter) decisions[pending.id] = this.#decide(pending);
        }
        run = await this.#runner.resume(run.id, { decisions, ...(signal && { signal }) });
        this.#settled(run);
      }
    } catch (error) {
      this.#watch.fail("2.1", `a run rejected: ${describeThrown(error)}`);
    }
  }

  /** What a run gives back is complete, and is its own (`Semantics 2.3`, `2.4`). */
  #settled(run: Run<unknown> | RunLike): void {
    const { id, status, messages, results } = run;
    if (status !== "suspended") {
      const request = { model: "simulated", instructions: "", messages, tools: [], settings: {} };
      for (const fault of checkRequest(request)) this.#watch.fail("2.4", `transcript of ${id}: ${fault}`);
    }
    const isFailed = status === "failed" || status === "cancelled";
    if (isFailed && run.error.code === "INTERNAL") this.#watch.fail("2.1", `${id}: ${run.error.message}`);
    for (const { callId, status: outcome, value, content, mayHaveLanded } of results) {
      const call = this.#call(callId);
      const isUntouched = call?.gates === undefined && this.#plan.tools?.[call?.tool ?? ""]?.agent === undefined;
      if (call !== undefined && isUntouched && outcome === "ok" && value !== returnOf(callId))
        this.#watch.fail("2.3", `${id}: the result of ${callId} is ${JSON.stringify(value)}`);
      if (mayHaveLanded && !content.endsWith("The side effect may have landed."))
        this.#watch.fail("7.3", `${id}: ${callId} may have landed, and is told ${JSON.stringify(content)}`);
    }
    this.#digest.update(JSON.stringify([id, status, messages, results.map(({ error: _, ...told }) => told)]));
    this.#watch.step();
  }

  // ---- bodies ----

  #tool(name: string, declared: SimulatedTool): Tool {
    const { agent, attempts, parallelSafe, requiresApproval, ...others } = declared;
    const description = name;
    if (agent !== undefined) {
      return agentTool(this.#agentOf(agent), {
        name,
        description,
        input: { type: "object" },
        toInput: ({ script }: Record<string, unknown>) => inputOf(Number(script)),
        ...others,
        ...(parallelSafe === undefined || parallelSafe === "by_args" ? {} : { parallelSafe }),
      }) as Tool;
    }
    return defineTool({
      name,
      description,
      input: { type: "object" },
      ...others,
      ...(requiresApproval === undefined ? {} : { requiresApproval }),
      ...(attempts === undefined ? {} : { retry: { attempts, backoffSeconds: 0.05 } }),
      parallelSafe:
        parallelSafe === "by_args"
          ? (args: Record<string, unknown>) => !isAlone(declared, args)
          : (parallelSafe ?? true),
      run: (args: Record<string, unknown>, ctx: ToolContext) => this.#body(args, ctx),
    }) as Tool;
  }

  /** Ends at once where nothing takes time; else a promise. */
  #body(args: Record<string, unknown>, ctx: ToolContext): unknown {
    const call = this.#call(ctx.callId);
    const body = this.#watch.bodyStarts(ctx, args);
    const end = (): string => {
      this.#watch.bodyEnds(body);
      if (ctx.attempt <= (call?.fails ?? 0)) throw new Error(`${ctx.callId} failed`);
      return returnOf(ctx.callId);
    };
    if (call === undefined || (call.runs === undefined && call.takes === undefined)) return end();
    return this.#work(call, ctx).then(end, (error: unknown) => {
      this.#watch.bodyEnds(body);
      throw error;
    });
  }

  async #work({ runs = [], isTogether, isDeaf, takes = 0 }: PlannedCall, ctx: ToolContext): Promise<void> {
    if (isTogether === true) await Promise.all(runs.map((run) => this.#nest(run, ctx)));
    else for (const run of runs) await this.#nest(run, ctx);
    if (isDeaf !== true) ctx.signal.throwIfAborted();
    if (takes > 0) await this.#pause(takes, isDeaf === true ? undefined : ctx.signal);
  }

  async #nest(nested: PlannedNested, ctx: ToolContext): Promise<void> {
    const { agent, by, isLeft } = nested;
    const input = inputOf(this.#number(nested));
    const of = this.#agentOf(agent);
    // What a settled call starts is a run of its own: whoever waited for it might hold what it needs.
    const isOwn = by === "detached" || (by === "runner" && ctx.signal.aborted);
    if (isOwn || isLeft === true) this.#watch.counts.leftRuns++;
    if (isOwn) {
      const options = { tenant: ctx.tenant, ...(by === "detached" && { detached: true }) };
      this.#open++;
      void this.#through(this.#runner.run(of, input, options)).then(() => void this.#open--);
      return;
    }
    const running: Promise<RunLike> = by === "runner" ? this.#runner.run(of, input) : ctx.run(of, input);
    const settled = running.then(
      (run) => this.#settled(run),
      (error: unknown) => {
        // Too deep, or after the verdict: what else is refused could never work.
        if (!LanekeeperError.is(error) || error.code !== "CONFIGURATION")
          this.#watch.fail("2.1", `${ctx.callId}: a run below it rejected: ${describeThrown(error)}`);
      },
    );
    if (isLeft !== true) await settled;
  }

  // ---- models ----

  #provider(): ModelProvider {
    return {
      name: "simulated",
      generate: async (request, call) => {
        const { turn, response } = this.#ask(request, call);
        if (turn.takes !== undefined) await this.#pause(turn.takes, call.signal);
        this.#watch.step();
        if (turn.fault === "throws" || turn.fault === "breaks_off") throw new Error("overloaded");
        return response;
      },
      stream: (request, call) => this.#stream(request, call),
    };
  }

  async *#stream(request: ModelRequest, call: ModelCall): AsyncGenerator<ModelDelta> {
    const { turn, response } = this.#ask(request, call);
    if (turn.takes !== undefined) await this.#pause(turn.takes, call.signal);
    this.#watch.step();
    if (turn.fault === "throws") throw new Error("overloaded");
    const { toolCalls } = response;
    for (let times = turn.fault === "begins_again" ? 2 : 1; times > 0; times--) {
      for (const [index, { id, name, args }] of toolCalls.entries()) {
        yield { type: "tool_call_start", index, id, name };
        yield { type: "tool_call_delta", index, argsText: JSON.stringify(args) };
        yield { type: "tool_call_end", index };
        if (turn.perCall !== undefined) await this.#pause(turn.perCall, call.signal);
        this.#watch.step();
        if (turn.fault === "breaks_off" && index >= toolCalls.length / 2) throw new Error("connection lost");
      }
    }
    yield { type: "end", response };
  }

  /** What the model says to a request, which must be one that a vendor takes. */
  #ask(request: ModelRequest, { run }: ModelCall): { turn: PlannedTurn; response: ModelResponse } {
    for (const fault of checkRequest(request)) this.#watch.fail("2.4", `request of ${run.id} ${run.path}: ${fault}`);
    this.#watch.step();
    const script = Number(/^script (\d+)$/.exec(String(request.messages[0]?.content))?.[1]);
    const turn: PlannedTurn = this.#scripts[script]?.[run.turn - 1] ?? {};
    if (turn.fault !== undefined) this.#watch.counts.modelFaults++;
    const toolCalls: ToolCall[] = (turn.calls ?? []).map(({ tool = "nowhere", args = {}, runs }, position) => ({
      id: `s${script}t${run.turn}p${position}`,
      name: tool,
      args:
        this.#plan.tools?.[tool]?.agent === undefined ? args : { ...args, script: this.#number(runs?.[0] ?? NOTHING) },
    }));
    if (toolCalls.length === 0) return { turn, response: say("done") };
    const finishReason = turn.fault === "cut_off" ? "length" : "tool_calls";
    return { turn, response: say("", { toolCalls, finishReason }) };
  }

  // ---- gates ----

  readonly #approver: Approver = (request, { signal }) =>
    this.#gate("approval", request.callId, request, signal, (gate): Decision => {
      switch (gate?.answer) {
        case "refuse":
          return { approve: false, reason: "not now" };
        case "edit":
          return { approve: true, args: { ...(request.args as object), edited: true } };
        case "answer":
          return { result: "answered" };
        case "suspend":
          return { suspend: true };
        default:
          return { approve: true };
      }
    });

  readonly #guardrail: Guardrail = {
    name: "guardrail",
    before: (call, ctx) => this.#gate("guardrail", call.id, ctx, ctx.signal, refusal),
    after: (call, _, ctx) => this.#gate("after", call.id, ctx, ctx.signal, refusal),
  };

  readonly #hook: Hook = {
    name: "hook",
    beforeTool: (call, ctx) =>
      this.#gate("before_tool", call.id, ctx, ctx.signal, (gate) => {
        if (gate?.answer === "refuse") return { refuse: "not now" };
        return gate?.answer === "edit" ? { args: { ...(call.args as object), edited: true } } : undefined;
      }),
    afterTool: (call, _, ctx) =>
      this.#gate("after_tool", call.id, ctx, ctx.signal, (gate) =>
        gate?.answer === "edit" ? { result: "rewritten" } : undefined,
      ),
  };

  /** Answers at once where nothing takes time; else a promise. */
  #gate<Answer>(
    at: PlannedGate["at"],
    callId: string,
    { runId, path }: Pick<GateContext, "runId" | "path">,
    signal: AbortSignal,
    answer: (gate: PlannedGate | undefined) => Answer,
  ): Answer | Promise<Answer> {
    const gate = this.#call(callId)?.gates?.find((one) => one.at === at);
    this.#watch.gateOpens(runId, path, `${at} of ${callId}`);
    const close = (): Answer => {
      this.#watch.gateCloses(runId, path);
      if (gate?.answer === "throw") throw new Error(`the ${at} of ${callId} failed`);
      return answer(gate);
    };
    if (gate?.takes === undefined) return close();
    return this.#pause(gate.takes, signal).then(close, (error: unknown) => {
      this.#watch.gateCloses(runId, path);
      throw error;
    });
  }

  #suspending({ callId }: PendingCall): PlannedGate {
    return this.#call(callId)?.gates?.find(({ answer }) => answer === "suspend") ?? { at: "approval" };
  }

  #decide(pending: PendingCall): Decision {
    const { later } = this.#suspending(pending);
    if (later === "answer") return { result: "answered later" };
    return later === "deny" ? { approve: false, reason: "never" } : { approve: true };
  }

  // ---- time, events and names ----

  #hear(event: RunEvent): void {
    this.#watch.hear(event);
    this.#digest.update(JSON.stringify(event));
    for (const cancel of this.#cancels) {
      if (cancel.on === event.kind && --cancel.left === 0) after(cancel.microtasks ?? 0, cancel.abort);
    }
  }

  /** Rejects with the signal's reason as soon as it aborts. */
  #pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      let timer: Timer | undefined;
      const onAbort = (): void => {
        timer?.cancel();
        reject(signal?.reason);
      };
      timer = this.#clock.setTimer(ms, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  #agentOf(name = "main"): Agent {
    return this.#agents.get(name) ?? (this.#agents.get("main") as Agent);
  }

  #number(of: PlannedRun | PlannedNested): number {
    let number = this.#numbers.get(of);
    if (number === undefined) {
      number = this.#scripts.push(of.turns ?? []) - 1;
      this.#numbers.set(of, number);
    }
    return number;
  }

  /** The planned call that an id stands for. */
  #call(callId: string): PlannedCall | undefined {
    const [, script, turn, position] = /^s(\d+)t(\d+)p(\d+)$/.exec(callId) ?? [];
    return this.#scripts[Number(script)]?.[Number(turn) - 1]?.calls?.[Number(position)];
  }
}

const NOTHING: PlannedNested = {};

function inputOf(script: number): string {
  return `script ${script}`;
}

/** What a body returns: nobody else's call has the same. */
function returnOf(callId: string): string {
  return `did ${callId}`;
}

function refusal(gate: PlannedGate | undefined): { refuse: string } | { endRun: string } | undefined {
  if (gate?.answer === "refuse") return { refuse: "not now" };
  return gate?.answer === "end_run" ? { endRun: "no further" } : undefined;
}

function after(microtasks: number, happen: () => void): void {
  if (microtasks <= 0) happen();
  else queueMicrotask(() => after(microtasks - 1, happen));
}
