/**
 * What every test of a public report stands on: a world that is watched from outside, and that is checked when the case
 * is through.
 *
 * G1 Each request, and each transcript at the end, answers every call once and in call order, as strict vendors want it.
 * G2 A call starts at most once an attempt and has exactly one terminal event, and none of it comes after its run's end.
 * G3 Every lane is empty at the end, and a fresh call of each tool, for each tenant that worked, starts at once.
 * G4 No promise is rejected unheard, no exception is nobody's, and the process warns of nothing.
 * G5 The signals that runs were given have no more listeners than before.
 * G6 Bodies start as often as the case says, and are never more at once than was declared, counted in the bodies.
 * G7 No timer is left on the clock, and nothing of the host's that would keep the process alive.
 */
import process from "node:process";
import {
  type Agent,
  AgentRunner,
  type Bound,
  ConcurrencyConfig,
  Lanes,
  type Message,
  type ModelProvider,
  type ModelRequest,
  type Run,
  type RunEvent,
  type RunnerOptions,
  type RunOptions,
  type Tool,
  type ToolContext,
  type ToolOptions,
} from "lanekeeper";
import {
  calls,
  checkRequest,
  FakeClock,
  Gate,
  type LeakCheck,
  leakCheck,
  ScriptedProvider,
  SequentialIds,
  say,
  Witness,
} from "lanekeeper/testing";
import { expect, it } from "vitest";
import { agent, faults, tool } from "../runner/setting.ts";

type Body = (args: Record<string, unknown>, ctx: ToolContext) => unknown;

/** How a tool of the world is declared; `isCaller`: its body runs agents, and then counts as waiting (`Semantics 4.6`). */
type Declared = Partial<ToolOptions> & { isCaller?: boolean };

/** A test of one report: `expected.starts` says how often each tool's body starts, tools that are not named never. */
export function report(
  title: string,
  expected: { readonly starts: Readonly<Record<string, number>> },
  play: (world: ReportWorld) => Promise<void>,
): void {
  it(title, async () => {
    const world = new ReportWorld();
    await play(world);
    await world.check(expected.starts);
  });
}

export class ReportWorld {
  readonly clock: FakeClock = new FakeClock();
  /** Where bodies wait until the case lets them go. */
  readonly gate: Gate<unknown> = new Gate<unknown>();
  /** Counts bodies by tool, and by `tenant <name>` those that work. */
  readonly witness: Witness = new Witness();
  /** What `onEvent` was told, in live order. */
  readonly heard: RunEvent[] = [];
  /** What `onError` was told; a case that expects some takes them out. */
  readonly reported: unknown[] = [];
  /** Every request that a model was asked, in order of arrival. */
  readonly requests: ModelRequest[] = [];
  /** What strict vendors would refuse of them. */
  readonly #refused: string[] = [];
  readonly #runs: Run[] = [];
  readonly #runners: { lanes: Lanes; concurrency: ConcurrencyConfig; leaks: LeakCheck }[] = [];
  readonly #tools = new Map<string, Tool>();
  readonly #tenants = new Set<string>();
  readonly #resources = hostResources();

  /** A tool that takes any arguments and whose bodies are counted. */
  tool(name: string, body?: Body, { isCaller = false, ...declared }: Declared = {}): Tool {
    const counted: Body | undefined =
      body && ((args, ctx) => this.#counted(isCaller ? [name] : [name, `tenant ${ctx.tenant}`], () => body(args, ctx)));
    const made = tool(name, counted, declared) as Tool;
    this.#tools.set(name, made);
    return made;
  }

  /** A tool whose bodies wait at the gate under their call's id, and do not listen to their signal. */
  deaf(name: string, declared: Declared = {}): Tool {
    return this.tool(name, (_, { callId }) => this.gate.wait(callId), declared);
  }

  /** A tool whose bodies wait at the gate under their call's id, and end when their signal aborts. */
  listening(name: string, declared: Declared = {}): Tool {
    return this.tool(name, (_, { callId, signal }) => this.gate.wait(callId, { signal }), declared);
  }

  /** A runner on the world's clock whose every request is checked. */
  runner(provider: ModelProvider, tools: readonly Tool[], options: RunnerOptions = {}): AgentRunner {
    const { concurrency = {}, ...others } = options;
    const { clock } = this;
    const onError = (error: unknown): void => void this.reported.push(error);
    const lanes = new Lanes(concurrency, { clock, onError });
    const runner = new AgentRunner({
      tools,
      lanes,
      clock,
      ids: new SequentialIds(),
      onEvent: (event) => void this.heard.push(event),
      onError,
      ...others,
      provider: this.#watched(provider),
    });
    const script = provider instanceof ScriptedProvider ? { provider } : {};
    const leaks = leakCheck(runner, { clock, ...script });
    this.#runners.push({ lanes: others.lanes ?? lanes, concurrency: new ConcurrencyConfig(concurrency), leaks });
    return runner;
  }

  /** Starts a run, and watches its signal and its end. */
  run(
    runner: AgentRunner,
    of: Agent = agent("planner"),
    input: string | Message[] = "Go.",
    options: RunOptions = {},
  ): Promise<Run> {
    if (options.signal !== undefined) this.watch(options.signal);
    return this.keep(runner.run(of, input, options) as Promise<Run>);
  }

  /** A signal that must have no more listeners at the end than now. */
  watch(signal: AbortSignal): AbortSignal {
    for (const { leaks } of this.#runners) leaks.watch(signal);
    return signal;
  }

  /** A run that was started in another way, by `stream` or `resume`: its end is checked, too. */
  async keep(running: Promise<Run>): Promise<Run> {
    const run = await running;
    this.#runs.push(run);
    return run;
  }

  /** Lets everything go that waits, and brings a run to its end without any time passing. */
  async finish(running: Promise<Run>): Promise<Run> {
    this.gate.leaveOpen("done");
    return this.clock.promptly(running);
  }

  /** Checks G1 to G7. */
  async check(starts: Readonly<Record<string, number>>): Promise<void> {
    await this.clock.settle();
    expect(this.gate.waiting, "the case let every body go").toEqual([]);
    expect(this.#refused, "G1: requests that a strict vendor would refuse").toEqual([]);
    for (const run of this.#runs) if (run.status !== "suspended") expect(faults(run), "G1: a transcript").toEqual([]);
    expect(this.#eventFaults(), "G2").toEqual([]);
    const counted = [...this.#tools.keys()].map((name) => [name, this.witness.starts(name)] as const);
    expect(Object.fromEntries(counted.filter(([, count]) => count > 0)), "G6: bodies started").toEqual(starts);
    expect(this.#tooMany(), "G6: bodies at once, beyond what was declared").toEqual([]);
    for (const { lanes } of this.#runners) await this.#probe(lanes);
    for (const { leaks } of this.#runners) await leaks.done();
    expect(this.reported, "what nobody expected to be thrown").toEqual([]);
    expect(hostResources(), "G7: what keeps the process alive").toEqual(this.#resources);
  }

  #counted<R>(names: readonly string[], body: () => R): R {
    return names.reduceRight<() => R>((inner, name) => () => this.witness.body(name, inner), body)();
  }

  #watched(provider: ModelProvider): ModelProvider {
    const ask = (request: ModelRequest): void => {
      this.requests.push(structuredClone(request));
      this.#refused.push(...checkRequest(request));
    };
    const stream = provider.stream?.bind(provider);
    return {
      name: provider.name,
      generate: (request, call) => {
        ask(request);
        this.#tenants.add(call.run.tenant);
        return provider.generate(request, call);
      },
      ...(stream && {
        stream: (request, call) => {
          ask(request);
          this.#tenants.add(call.run.tenant);
          return stream(request, call);
        },
      }),
    };
  }

  /** G2, read off what was told as it happened. */
  #eventFaults(): string[] {
    const found: string[] = [];
    const ended = new Set<string>();
    const tally = new Map<string, { attempts: Set<number>; verdicts: number; isAsked: boolean }>();
    for (const event of this.heard) {
      if (RUN_ENDS.has(event.kind)) ended.add(`${event.runId} ${event.path}`);
      if (event.kind === "run_resumed") ended.delete(`${event.runId} ${event.path}`);
      if (!("callId" in event)) continue;
      const place = `${event.runId} ${event.path} ${event.callId}`;
      const call = tally.get(place) ?? { attempts: new Set<number>(), verdicts: 0, isAsked: false };
      tally.set(place, call);
      if (event.kind === "tool_requested") call.isAsked = true;
      if (event.kind === "tool_dispatched") {
        if (call.attempts.has(event.attempt)) found.push(`${place}: attempt ${event.attempt} started twice`);
        call.attempts.add(event.attempt);
      }
      if (VERDICTS.has(event.kind)) call.verdicts++;
      const counts = event.kind === "tool_dispatched" || VERDICTS.has(event.kind);
      if (counts && ended.has(`${event.runId} ${event.path}`))
        found.push(`${place}: ${event.kind} after its run's end`);
    }
    const waiting = new Set(
      this.#runs.flatMap((run) => (run.status === "suspended" ? run.pending.map(({ callId }) => callId) : [])),
    );
    for (const [place, { verdicts, isAsked }] of tally) {
      const isWaiting = waiting.has(place.split(" ").at(-1) as string);
      if (isAsked && verdicts !== 1 && !isWaiting) found.push(`${place}: ${verdicts} terminal events`);
    }
    return found;
  }

  /** G6: bounds as they were declared, against what ran. */
  #tooMany(): string[] {
    return this.#runners.flatMap(({ concurrency: { perTool = {}, perTenant } }) => [
      ...Object.entries(perTool).flatMap(([name, bound]) => this.#beyond(name, bound)),
      ...(typeof perTenant === "function" || perTenant === undefined
        ? []
        : [...this.#tenants].flatMap((tenant) => this.#beyond(`tenant ${tenant}`, perTenant))),
    ]);
  }

  #beyond(name: string, bound: Bound): string[] {
    const most = typeof bound === "number" ? bound : bound.inFlight;
    const peak = this.witness.peak(name);
    const abandoned = this.heard.filter(({ kind }) => kind === "tool_abandoned").length;
    return most === undefined || peak <= most + abandoned ? [] : [`${name}: ${peak} at once, ${most} allowed`];
  }

  /** G3: fresh calls start at once. Their bodies are the probe's own, so that the case's are not counted twice. */
  async #probe(lanes: Lanes): Promise<void> {
    const { clock } = this;
    const tools = [...this.#tools.values()].map(probeOf);
    if (tools.length === 0) return;
    for (const tenant of this.#tenants) {
      const one = (name: string) => calls({ id: `probe_${name}`, name, args: {} });
      const provider = new ScriptedProvider(...tools.map(({ name }) => one(name)), say("ok"));
      const runner = new AgentRunner({ provider, tools, lanes, clock, ids: new SequentialIds() });
      const run = await clock.promptly(runner.run(agent("probe", { maxTurns: tools.length + 1 }), "Go.", { tenant }));
      const got = run.results.map(({ status, content }) => `${status}: ${content}`);
      expect(got, `G3: fresh calls for ${tenant}`).toEqual(tools.map(() => "ok: at once"));
    }
  }
}

/** A tool that stands in the same lanes, and answers at once. */
function probeOf({ name, parallelSafe, resource }: Tool): Tool {
  return tool(name, () => "at once", { parallelSafe, ...(resource === undefined ? {} : { resource }) });
}

const VERDICTS = new Set(["tool_result", "tool_error", "tool_indeterminate"]);
const RUN_ENDS = new Set(["run_completed", "run_failed", "run_cancelled", "run_suspended"]);

/** What of the host's keeps the process alive, beside what the test runner itself has open. */
function hostResources(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((kind) => kind === "Timeout" || kind === "Immediate" || /Socket|Server|Worker|Process/.test(kind))
    .sort();
}
