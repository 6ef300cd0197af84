/**
 * What every test of a public report stands on: a world that is watched from outside, and that is checked when the case
 * is through.
 *
 * G1 Each request, and each transcript at the end, answers every call once and in call order, as strict vendors want it.
 * G2 A call starts at most once an attempt and has exactly one terminal event, each run ends once, and after a run's end
 *    nothing is told of it or of what was below it but what bodies do that outlived their verdict.
 * G3 Every lane is empty at the end, and as many fresh calls of each tool as its bounds allow start at once, for each
 *    tenant that worked.
 * G4 No promise is rejected unheard, no exception is nobody's, and the process warns of nothing.
 * G5 The signals that runs were given have no more listeners than before.
 * G6 Bodies start as often as the case says and as was told, and in no lane are more at once than was declared, counted
 *    in the bodies. Those that run agents wait for them, and count nowhere.
 * G7 No timer is left on the clock, and nothing of the host's that would keep the process alive.
 */
import process from "node:process";
import {
  type Agent,
  AgentRunner,
  type Bound,
  type ConcurrencyConfig,
  Lanes,
  type Message,
  type ModelCall,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
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
import { hostTimers } from "./host-timers.ts";

type Body = (args: Record<string, unknown>, ctx: ToolContext) => unknown;

/** How a tool of the world is declared; `isCaller`: its body runs agents, and then counts as waiting (`Semantics 4.6`). */
type Declared = Partial<ToolOptions> & { isCaller?: boolean };

/** Lanes that runners of the world use, and what they were declared with. */
interface Home {
  readonly lanes: Lanes;
  readonly declared: ConcurrencyConfig;
}

/** Where a call stands. */
type Place = Pick<ToolContext, "runId" | "path" | "callId" | "tenant" | "tool">;

/**
 * A test of one report: `expected.starts` says how often each tool's body starts, tools that are not named never.
 * `timeoutMs` is for what is a lot of work.
 */
export function report(
  title: string,
  expected: { readonly starts: Readonly<Record<string, number>>; readonly timeoutMs?: number },
  play: (world: ReportWorld) => Promise<void>,
): void {
  const { timeoutMs: timeout } = expected;
  it(title, timeout === undefined ? {} : { timeout }, async () => {
    const world = new ReportWorld();
    try {
      await play(world);
      await world.check(expected.starts);
    } finally {
      await world.leave();
    }
  });
}

/** A model that answers each input with what `asks` makes of it, and results with "ok": any number of runs may ask it. */
export function answering(asks: (input: string, run: ModelCall["run"]) => ModelResponse): ModelProvider {
  return {
    name: "answering",
    generate: async ({ messages }, { run }) => {
      const last = messages.at(-1);
      return last?.role === "user" ? asks(String(last.content), run) : say("ok");
    },
  };
}

/** The lanes that anybody stands in or before. */
export function standing(runner: AgentRunner): string[] {
  return runner
    .lanes()
    .filter(({ inFlight, waiting }) => inFlight + waiting > 0)
    .map(({ lane, inFlight, waiting }) => `${lane}: ${inFlight} in flight, ${waiting} waiting`);
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
  readonly #runs: Run<unknown>[] = [];
  readonly #homes: Home[] = [];
  readonly #homeOfRun = new Map<string, Home>();
  readonly #turnOfCall = new Map<string, number>();
  /** Counts bodies by lane. */
  readonly #bodies: Witness = new Witness();
  readonly #bounds = new Map<string, Bound>();
  readonly #leaks: LeakCheck[] = [leakCheck({ lanes: () => [] }, { clock: this.clock })];
  readonly #ids: SequentialIds = new SequentialIds();
  readonly #tools = new Map<string, Tool>();
  readonly #tenants = new Set<string>();
  readonly #resources = hostResources();
  readonly #timers = new Set(hostTimers());

  /** The `onEvent` of batches that a case runs without a runner. */
  readonly hear = (event: RunEvent): void => this.#hear(event, undefined);

  /** A tool that takes any arguments and whose bodies are counted. */
  tool(name: string, body?: Body, { isCaller = false, ...declared }: Declared = {}): Tool {
    const counted: Body | undefined =
      body &&
      ((args, ctx) => {
        const tenant = isCaller ? [] : [`tenant ${ctx.tenant}`];
        const lanes = isCaller ? [] : [...this.#lanesOf(ctx).keys()];
        const inLanes = (): unknown => counting(this.#bodies, lanes, () => body(args, ctx));
        return counting(this.witness, [name, ...tenant], inLanes);
      });
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
    const { concurrency = {}, onEvent, ...others } = options;
    const { clock } = this;
    const onError = (error: unknown): void => void this.reported.push(error);
    const lanes = others.lanes ?? new Lanes(concurrency, { clock, onError });
    const home = this.#homes.find((known) => known.lanes === lanes) ?? { lanes, declared: lanes.config };
    if (!this.#homes.includes(home)) this.#homes.push(home);
    const runner = new AgentRunner({
      tools,
      lanes,
      clock,
      ids: this.#ids,
      onError,
      ...others,
      onEvent: (event) => {
        this.#hear(event, home);
        return onEvent?.(event);
      },
      provider: this.watched(provider),
    });
    const script = provider instanceof ScriptedProvider ? { provider } : {};
    this.#leaks.push(leakCheck(runner, { clock, ...script }));
    return runner;
  }

  /** A provider whose every request is checked: for agents with one of their own. */
  watched(provider: ModelProvider): ModelProvider {
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
    this.#leaks[0]?.watch(signal);
    return signal;
  }

  /** A run that was started in another way, by `stream` or `resume`: its end is checked, too. */
  async keep<Watched extends Run<unknown>>(running: Promise<Watched>): Promise<Watched> {
    const run = await running;
    this.#runs.push(run);
    return run;
  }

  /** Lets everything go that waits, and brings a run to its end without any time passing. */
  async finish<Watched extends Run<unknown>>(running: Promise<Watched>): Promise<Watched> {
    this.gate.leaveOpen("done");
    return this.clock.promptly(running);
  }

  /** Checks G1 to G7. */
  async check(starts: Readonly<Record<string, number>>): Promise<void> {
    await this.clock.settle();
    nothing("the case let every body go", this.gate.waiting);
    nothing("G1: requests that a strict vendor would refuse", this.#refused);
    for (const run of this.#runs) if (run.status !== "suspended") nothing("G1: a transcript", faults(run));
    nothing("G2", this.#eventFaults());
    const counted = [...this.#tools.keys()].map((name) => [name, this.witness.starts(name)] as const);
    const started = Object.fromEntries(counted.filter(([, count]) => count > 0));
    expect(started, "G6: bodies started").toEqual(starts);
    expect(this.#told(), "G6: bodies started, as it was told").toEqual(started);
    nothing("G6: bodies at once, beyond what was declared", this.#tooMany());
    for (const { lanes } of this.#homes) await this.#probe(lanes);
    for (const leaks of this.#leaks) await leaks.done();
    expect(this.reported, "what nobody expected to be thrown").toEqual([]);
    const before = [...this.#resources];
    const opened = hostResources().filter((kind) => !taken(before, kind));
    const timers = hostTimers().filter((timer) => !this.#timers.has(timer));
    nothing("G7: what keeps the process alive", [...opened, ...timers.map(() => "a timer")]);
  }

  /** Ends the watch, whatever came of it. */
  async leave(): Promise<void> {
    await Promise.allSettled(this.#leaks.map((leaks) => leaks.done()));
  }

  #hear(event: RunEvent, home: Home | undefined): void {
    this.heard.push(event);
    if (home !== undefined) this.#homeOfRun.set(event.runId, home);
    if (event.kind === "tool_requested") this.#turnOfCall.set(placeOf(event), event.turn);
  }

  /** G2, read off what was told as it happened. */
  #eventFaults(): string[] {
    const found: string[] = [];
    /** How each run that was told of has ended; `undefined` while it goes on. */
    const ends = new Map<string, string | undefined>();
    const tally = new Map<string, { run: string; attempts: Set<number>; verdicts: number; isAsked: boolean }>();
    for (const event of this.heard) {
      const run = `${event.runId} ${event.path}`;
      if (event.kind === "run_resumed") {
        for (const place of ends.keys()) if (`${place}/`.startsWith(`${run}/`)) ends.delete(place);
      }
      const isOver = selfAndAbove(event.path).some((path) => ends.get(`${event.runId} ${path}`) !== undefined);
      if (isOver && !AFTERWARDS.has(event.kind)) {
        found.push(`${run}: ${event.kind} after its run's end`);
      }
      if (!isOver) ends.set(run, RUN_ENDS.has(event.kind) ? event.kind : undefined);
      if (!("callId" in event)) continue;
      const place = placeOf(event);
      const call = tally.get(place) ?? { run, attempts: new Set<number>(), verdicts: 0, isAsked: false };
      tally.set(place, call);
      if (event.kind === "tool_requested") call.isAsked = true;
      if (event.kind === "tool_dispatched") {
        if (call.attempts.has(event.attempt)) found.push(`${place}: attempt ${event.attempt} started twice`);
        if (call.verdicts > 0) found.push(`${place}: attempt ${event.attempt} started after its verdict`);
        call.attempts.add(event.attempt);
      }
      if (VERDICTS.has(event.kind)) call.verdicts++;
    }
    for (const [run, end] of ends) if (end === undefined) found.push(`${run}: its end was never told`);
    for (const [place, { run, verdicts, isAsked }] of tally) {
      const isWaiting = verdicts === 0 && ends.get(run) === "run_suspended";
      if (isAsked && verdicts !== 1 && !isWaiting) found.push(`${place}: ${verdicts} terminal events`);
    }
    return found;
  }

  /** How often each tool of the world was told to have started. */
  #told(): Record<string, number> {
    const told: Record<string, number> = {};
    for (const event of this.heard) {
      if (event.kind !== "tool_dispatched" || !this.#tools.has(event.tool)) continue;
      told[event.tool] = (told[event.tool] ?? 0) + 1;
    }
    return told;
  }

  /** The lanes that a call stands in, with their bounds as declared: those of its own turn and of the turns above, too. */
  #lanesOf(call: Place): ReadonlyMap<string, Bound> {
    const { runId, path, tenant, tool } = call;
    const home = this.#homeOfRun.get(runId);
    const lanes = new Map<string, Bound>();
    if (home === undefined) return lanes;
    const { perTool, perTenant, perResource, maxConcurrentTools = 8 } = home.declared;
    const add = (lane: string, bound: Bound | undefined): void => {
      if (bound !== undefined) lanes.set(`${this.#homes.indexOf(home)} ${lane}`, bound);
    };
    add(`tool ${tool}`, perTool[tool]);
    add(`tenant ${tenant}`, typeof perTenant === "function" ? perTenant(tenant) : perTenant);
    const resource = this.#tools.get(tool)?.resource;
    if (resource !== undefined) add(`resource ${resource}`, perResource[resource]);
    const turn = this.#turnOfCall.get(placeOf(call));
    if (turn !== undefined) add(`turn ${runId} ${path} ${turn}`, maxConcurrentTools);
    for (const below of selfAndAbove(path).filter((one) => one.includes("/"))) {
      const cut = below.lastIndexOf("/");
      add(`turn ${runId} ${below.slice(0, cut)} ${Number.parseInt(below.slice(cut + 1), 10)}`, maxConcurrentTools);
    }
    for (const [lane, bound] of lanes) this.#bounds.set(lane, bound);
    return lanes;
  }

  /** G6: bounds as they were declared, against what ran. An abandoned body is one more, and was told of. */
  #tooMany(): string[] {
    const abandoned = new Map<string, number>();
    for (const event of this.heard) {
      if (event.kind !== "tool_abandoned") continue;
      for (const lane of this.#lanesOf(event).keys()) abandoned.set(lane, (abandoned.get(lane) ?? 0) + 1);
    }
    return [...this.#bounds].flatMap(([lane, bound]) => {
      const most = inFlightOf(bound);
      const peak = this.#bodies.peak(lane);
      return peak <= most + (abandoned.get(lane) ?? 0) ? [] : [`${lane.slice(2)}: ${peak} at once, ${most} allowed`];
    });
  }

  /** G3: fresh calls start at once. Their bodies are the probe's own, so that the case's are not counted twice. */
  async #probe(lanes: Lanes): Promise<void> {
    const { clock } = this;
    for (const tenant of this.#tenants) {
      for (const one of this.#tools.values()) {
        const room = roomOf(lanes.config, one, tenant);
        if (room === 0) continue;
        const gate = new Gate<string>();
        const asked = Array.from({ length: room }, (_, no) => ({ id: `probe_${no}`, name: one.name, args: { no } }));
        const provider = new ScriptedProvider(calls(...asked), say("ok"));
        const tools = [probeOf(one, gate)];
        const runner = new AgentRunner({ provider, tools, lanes, clock, ids: new SequentialIds() });
        const running = runner.run(agent("probe"), "Go.", { tenant });
        await clock.settle();
        expect(gate.waiting.length, `G3: fresh calls of ${one.name} that start at once for ${tenant}`).toBe(room);
        gate.leaveOpen("ok");
        await clock.promptly(running);
      }
    }
  }
}

function nothing(what: string, found: readonly string[]): void {
  expect(found, [what, ...found].join("\n")).toEqual([]);
}

/** Counts a body under each of these names until it has ended. */
function counting<R>(witness: Witness, names: readonly string[], body: () => R): R {
  return names.reduceRight<() => R>((inner, name) => () => witness.body(name, inner), body)();
}

/** How many fresh calls of a tool its lanes let start at once; none where starts are counted, which were spent. */
function roomOf(config: ConcurrencyConfig, { name, resource, parallelSafe }: Tool, tenant: string): number {
  const { perTool, perTenant, perResource, maxConcurrentTools = 8 } = config;
  const declared: (Bound | undefined)[] = [
    perTool[name],
    typeof perTenant === "function" ? perTenant(tenant) : perTenant,
    resource === undefined ? undefined : perResource[resource],
  ];
  const bounds = declared.filter((bound) => bound !== undefined);
  if (bounds.some((bound) => typeof bound === "object" && bound.starts !== undefined)) return 0;
  return Math.min(parallelSafe === true ? maxConcurrentTools : 1, 8, ...bounds.map(inFlightOf));
}

function inFlightOf(bound: Bound): number {
  return typeof bound === "number" ? bound : (bound.inFlight ?? Number.POSITIVE_INFINITY);
}

/** A tool that stands in the same lanes. */
function probeOf({ name, parallelSafe, resource }: Tool, gate: Gate<string>): Tool {
  return tool(name, () => gate.wait(name), { parallelSafe, ...(resource === undefined ? {} : { resource }) });
}

function placeOf({ runId, path, callId }: { runId: string; path: string; callId: string }): string {
  return `${runId} ${path} ${callId}`;
}

/** A run's place, and those of the runs above it: `0/2.1` and `0`. */
function selfAndAbove(path: string): string[] {
  const steps = path.split("/");
  return steps.map((_, above) => steps.slice(0, steps.length - above).join("/"));
}

const VERDICTS = new Set(["tool_result", "tool_error", "tool_indeterminate"]);
const RUN_ENDS = new Set(["run_completed", "run_failed", "run_cancelled", "run_suspended"]);
/** What is told of a body that outlived its verdict. */
const AFTERWARDS = new Set(["tool_late_result", "tool_overdue", "tool_abandoned"]);

/** What of the host's keeps the process alive, beside what the test runner itself has open. */
function hostResources(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => /Socket|Server|Worker|Process/.test(kind));
}

/** Takes one of `list` away; tells whether there was one. */
function taken(list: string[], one: string): boolean {
  const at = list.indexOf(one);
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
}
