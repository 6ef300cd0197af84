/**
 * Makes plans up, by chance and within what a user fixed.
 *
 * Each world has a character: crowds of flat calls wear lanes out until they are kept, knots of deep ones close rings of
 * waiting, and the others have some of everything. Times are multiples of 10 ms, so that things often happen in one instant.
 */
import type { Random } from "../base/random.ts";
import type { Bound } from "../lanes/bound.ts";
import type { ConcurrencyOptions } from "../lanes/concurrency-config.ts";
import type {
  PlannedCall,
  PlannedCancel,
  PlannedGate,
  PlannedNested,
  PlannedRun,
  PlannedTurn,
  SimulatedAgent,
  SimulatedTool,
  SimulationPlan,
  SimulationWorld,
} from "./simulation-plan.ts";

/** The most calls of one world: beyond it runs ask for no more. */
const MOST_CALLS = 150;

/** Makes up a world and everything that happens in it. */
export function makePlan(random: Random, world: SimulationWorld): SimulationPlan {
  return new Maker(random, world).plan();
}

class Maker {
  readonly #random: Random;
  readonly #world: SimulationWorld;
  readonly #hasFaults: boolean;
  readonly #depth: number;
  readonly #tenants: readonly string[];
  readonly #tools: Readonly<Record<string, SimulatedTool>>;
  readonly #agents: Readonly<Record<string, SimulatedAgent>>;
  readonly #leaves: readonly string[];
  /** Two that most calls are of: a few tools stand in each other's way more than many. */
  readonly #favourites: readonly string[];
  readonly #agentTools: readonly string[];
  readonly #character: "crowd" | "knot" | "mixed";
  /** How often a call has runs below it. */
  readonly #nesting: number;
  /** How often a body is deaf. */
  readonly #deafness: number;
  #left = MOST_CALLS;

  constructor(random: Random, world: SimulationWorld) {
    this.#random = random;
    this.#world = world;
    this.#hasFaults = world.faults !== false;
    const chance = this.#random();
    this.#character = chance < 0.1 ? "crowd" : chance < 0.4 ? "knot" : "mixed";
    this.#depth = world.depth ?? 4;
    this.#tenants = world.tenants ?? ["acme", "other", "third"].slice(0, this.#isCrowd ? 3 : this.#upTo(3));
    this.#tools = world.tools ?? this.#someTools();
    const names = Object.keys(this.#tools);
    this.#agents = world.agents ?? { main: this.#agent(names), worker: this.#agent(names) };
    this.#leaves = names.filter((name) => this.#tools[name]?.agent === undefined);
    this.#favourites = this.#leaves.length === 0 ? [] : [this.#pick(this.#leaves), this.#pick(this.#leaves)];
    this.#agentTools = names.filter((name) => this.#tools[name]?.agent !== undefined);
    this.#nesting = { crowd: 0, knot: 0.8, mixed: this.#pick([0, 0.2, 0.5]) }[this.#character];
    this.#deafness = this.#fault(0.5) ? 0.2 : 0;
  }

  plan(): SimulationPlan {
    const { concurrency = this.#concurrency(), deadlines, dispatch } = this.#world;
    const runs = Array.from({ length: this.#countOfRuns() }, () => this.#run());
    const seconds = (): number => this.#upTo(30) / 10;
    const some = this.#fault(0.15) ? { [this.#pick(["runSeconds", "toolCallSeconds"])]: seconds() } : undefined;
    const chosen = deadlines ?? some;
    return {
      concurrency,
      ...(chosen === undefined ? {} : { deadlines: chosen }),
      dispatch: dispatch ?? this.#pick(["after_gates", "eager"]),
      ...(this.#chance(0.1) ? { maxDepth: 2 } : {}),
      tools: this.#tools,
      agents: this.#agents,
      runs,
      ...(this.#world.concurrency === undefined && this.#fault(0.3) ? { changes: this.#changes() } : {}),
    };
  }

  // ---- what is declared ----

  #someTools(): Record<string, SimulatedTool> {
    const tools: Record<string, SimulatedTool> = {};
    for (const name of ["a", "b", "c"].slice(0, this.#isCrowd ? 3 : this.#upTo(3))) {
      const idempotent = this.#chance(0.5);
      const isShared = this.#isCrowd ? name !== "a" : this.#chance(0.3);
      tools[name] = {
        ...(idempotent ? { idempotent } : {}),
        ...(isShared ? { resource: this.#isCrowd ? "maps" : this.#pick(["maps", "mail"]) } : {}),
        ...(idempotent && this.#fault(0.4) ? { attempts: 1 + this.#upTo(2) } : {}),
        ...(this.#fault(0.2) ? { abandonSeconds: this.#upTo(5) / 10 } : {}),
        ...(this.#fault(0.2) ? { requiresApproval: true } : {}),
      };
    }
    for (const name of ["alone", "single"]) {
      if (!this.#chance(0.5)) continue;
      tools[name] = {
        parallelSafe: false,
        ...(this.#chance(0.3) ? { resource: "maps" } : {}),
        ...(this.#fault(0.2) ? { abandonSeconds: this.#upTo(5) / 10 } : {}),
      };
    }
    if (this.#chance(0.3)) tools.sometimes = { parallelSafe: "by_args", idempotent: this.#chance(0.5) };
    if (this.#depth > 0 && this.#chance(0.6)) {
      tools.research = { agent: "worker", ...(this.#chance(0.2) ? { parallelSafe: false } : {}) };
    }
    return tools;
  }

  #agent(tools: readonly string[]): SimulatedAgent {
    return {
      ...(this.#chance(0.3) && tools.length > 0 ? { concurrency: this.#narrowing(this.#pick(tools)) } : {}),
      ...(this.#fault(0.2) ? { onToolError: "fail_run" as const } : {}),
      ...(this.#chance(0.1) ? { maxTurns: this.#upTo(2) } : {}),
    };
  }

  #narrowing(tool: string): ConcurrencyOptions {
    return {
      ...(this.#chance(0.6) ? { maxConcurrentTools: this.#upTo(3) } : {}),
      ...(this.#chance(0.5) ? { perTool: { [tool]: this.#upTo(2) } } : {}),
      ...(this.#chance(0.2) ? { perTenant: this.#upTo(3) } : {}),
      ...(this.#chance(0.2) ? { perResource: { maps: this.#upTo(2) } } : {}),
      ...(this.#fault(0.2) ? { perToolSeconds: { [tool]: this.#upTo(20) / 100 } } : {}),
      ...(this.#fault(0.1) ? { maxWaiting: this.#upTo(4) } : {}),
    };
  }

  #concurrency(): ConcurrencyOptions {
    const perTool: Record<string, Bound> = {};
    const perToolSeconds: Record<string, number> = {};
    const isTight = this.#character !== "mixed";
    for (const name of Object.keys(this.#tools)) {
      if (this.#chance({ crowd: 0, knot: 1, mixed: 0.6 }[this.#character]))
        perTool[name] = this.#bound(isTight ? 1 : 2);
      if (this.#fault(0.2)) perToolSeconds[name] = this.#upTo(30) / 100;
    }
    const perResource: Record<string, Bound> = {};
    for (const name of ["maps", "mail"])
      if (this.#isCrowd || this.#chance(0.7)) perResource[name] = this.#bound(isTight ? 1 : 2);
    return {
      maxConcurrentTools: this.#isCrowd ? 8 : this.#upTo(5),
      perTool,
      perResource,
      perToolSeconds,
      ...(this.#isCrowd || this.#chance(0.7) ? { perTenant: this.#bound(this.#isCrowd ? 1 : 3) } : {}),
      ...(this.#fault(0.15) ? { maxWaitSeconds: this.#upTo(10) / 10 } : {}),
      ...(this.#fault(0.15) ? { maxWaiting: this.#upTo(6) } : {}),
      abandonSeconds: this.#upTo(10) / 10,
    };
  }

  #bound(most: number): Bound {
    if (!this.#chance(0.05)) return this.#upTo(most);
    return { inFlight: this.#upTo(most), starts: { count: this.#upTo(3), perSeconds: this.#upTo(20) / 100 } };
  }

  #changes(): NonNullable<SimulationPlan["changes"]> {
    return Array.from({ length: this.#upTo(4) }, () => {
      const { perTool, perResource, perTenant, maxConcurrentTools } = this.#concurrency();
      return {
        at: this.#time(150),
        concurrency: {
          ...(this.#chance(0.5) ? { perTool } : {}),
          ...(this.#chance(0.4) ? { perResource } : {}),
          ...(this.#chance(0.4) ? { perTenant } : {}),
          ...(this.#chance(0.4) && maxConcurrentTools !== undefined ? { maxConcurrentTools } : {}),
        },
      };
    });
  }

  // ---- what happens ----

  get #isCrowd(): boolean {
    return this.#character === "crowd";
  }

  #countOfRuns(): number {
    const most = this.#world.runs ?? 6;
    return this.#isCrowd ? most : this.#upTo(most);
  }

  #run(): PlannedRun {
    return {
      ...(this.#chance(0.5) ? { at: this.#time(30) } : {}),
      tenant: this.#pick(this.#tenants),
      ...(this.#chance(0.3) ? { agent: this.#pick(Object.keys(this.#agents)) } : {}),
      turns: this.#turns(0),
      ...(this.#fault(0.4) ? { cancel: this.#cancel() } : {}),
      ...(this.#chance(0.15) ? { stream: this.#fault(0.3) ? this.#upTo(60) : true } : {}),
    };
  }

  #cancel(): PlannedCancel {
    if (this.#chance(0.2)) return { at: this.#time(100) };
    if (this.#chance(0.5)) {
      // What ends gives its places to somebody, whose body starts a few microtasks later.
      return { on: "tool_completed", nth: this.#upTo(8), microtasks: this.#upTo(4) };
    }
    return { on: this.#pick(CANCEL_ON), nth: this.#upTo(20), microtasks: Math.floor(this.#random() * 12) };
  }

  #turns(depth: number): PlannedTurn[] {
    return Array.from({ length: this.#isCrowd ? 1 : this.#upTo(depth === 0 ? 3 : 2) }, () => ({
      ...(this.#chance(0.7) ? { takes: this.#time(10) } : {}),
      ...(this.#chance(0.3) ? { perCall: this.#time(5) } : {}),
      ...(this.#fault(0.06) ? { fault: this.#pick(["throws", "cut_off", "breaks_off", "begins_again"] as const) } : {}),
      calls: this.#callsOfTurn(depth),
    }));
  }

  #callsOfTurn(depth: number): PlannedCall[] {
    const isMany = this.#chance(this.#isCrowd ? 0.8 : 0.1);
    const wanted = isMany ? 8 + this.#upTo(8) : this.#upTo(4);
    const calls: PlannedCall[] = [];
    while (calls.length < wanted && this.#left > 0) {
      this.#left--;
      calls.push(this.#call(depth));
    }
    return calls;
  }

  #call(depth: number): PlannedCall {
    if (this.#fault(0.02) || this.#leaves.length === 0) return { tool: this.#pick(["nowhere", ...this.#agentTools]) };
    const isNested = depth < this.#depth && this.#chance(this.#nesting);
    if (isNested && this.#agentTools.length > 0 && this.#chance(0.4)) {
      return { tool: this.#pick(this.#agentTools), runs: [{ turns: this.#turns(depth + 1) }] };
    }
    const runs = isNested ? this.#runsBelow(depth) : undefined;
    const tool = this.#pick(this.#chance(0.6) ? this.#favourites : this.#leaves);
    const gates = this.#gates(tool);
    return {
      tool,
      ...(this.#chance(0.5) ? { args: { n: this.#upTo(2), ...(this.#chance(0.3) ? { alone: true } : {}) } } : {}),
      ...(this.#chance(0.9) ? { takes: this.#time(20) } : {}),
      ...(this.#chance(this.#deafness) ? { isDeaf: true, takes: this.#time(150) } : {}),
      ...(this.#fault(0.15) ? { fails: this.#upTo(3) } : {}),
      ...(gates.length === 0 ? {} : { gates }),
      ...(runs === undefined ? {} : { runs }),
      ...(runs !== undefined && runs.length > 1 && this.#chance(0.5) ? { isTogether: true } : {}),
    };
  }

  #runsBelow(depth: number): PlannedNested[] {
    return Array.from({ length: this.#chance(0.3) ? 2 : 1 }, () => ({
      ...(this.#chance(0.7) ? { agent: "worker" } : {}),
      ...(this.#chance(0.3) ? { by: this.#chance(0.2) ? ("detached" as const) : ("runner" as const) } : {}),
      ...(this.#fault(0.1) ? { isLeft: true } : {}),
      turns: this.#turns(depth + 1),
    }));
  }

  #gates(tool: string): PlannedGate[] {
    const isAsked = this.#tools[tool]?.requiresApproval === true;
    if (!this.#chance(isAsked ? 0.8 : 0.15)) return [];
    const at = isAsked ? "approval" : this.#pick(["guardrail", "before_tool", "after_tool", "after"] as const);
    const takes = this.#chance(0.5) ? { takes: this.#time(10) } : {};
    if (!this.#fault(0.7)) return [{ at, ...takes }];
    const answer = this.#pick(ANSWERS[at]);
    if (answer !== "suspend") return [{ at, ...takes, answer }];
    const later = this.#pick(["approve", "deny", "answer"] as const);
    return [{ at, ...takes, answer, later, laterAfter: this.#time(30) }];
  }

  // ---- chance ----

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** As likely, but seldom in a crowd, whose point is that much goes well, and never in a world without faults. */
  #fault(probability: number): boolean {
    return this.#chance(this.#isCrowd ? probability / 5 : probability) && this.#hasFaults;
  }

  #upTo(most: number): number {
    return 1 + Math.floor(this.#random() * most);
  }

  #time(most: number): number {
    return 10 * this.#upTo(most);
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T;
  }
}

const CANCEL_ON = [
  "run_started",
  "model_requested",
  "model_responded",
  "tool_requested",
  "gate_passed",
  "tool_queued",
  "tool_dispatched",
  "tool_completed",
  "tool_result",
  "tool_error",
  "tool_retried",
  "batch_resolved",
  "run_completed",
] as const;

const ANSWERS = {
  guardrail: ["refuse", "refuse", "end_run", "throw"],
  approval: ["refuse", "edit", "answer", "suspend", "suspend", "throw"],
  before_tool: ["refuse", "edit", "throw"],
  after_tool: ["edit", "throw"],
  after: ["refuse", "end_run", "throw"],
} as const satisfies Record<PlannedGate["at"], readonly NonNullable<PlannedGate["answer"]>[]>;
