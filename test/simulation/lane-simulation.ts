import type { ConcurrencyOptions } from "../../src/lanes/concurrency-config.ts";
import { isCallerOf } from "../../src/lanes/nesting.ts";
import { CallState, type Permit } from "../../src/lanes/permit.ts";
import { seededRandom } from "../../src/testing/seeded-random.ts";
import { randomConfig, randomRequest, randomTurn } from "./lane-enumeration.ts";
import { LaneWorld, type Tally, type WorldRequest } from "./lane-world.ts";

/** How a simulation differs from the plain one. */
export interface SimulationKind {
  /** Tools and tenants bound starts per time, too. */
  readonly rates?: boolean;
  /** Bounds change while calls run. */
  readonly changes?: boolean;
  /** Bodies end by `end` and `abandon`, and not only by `release`. */
  readonly deaf?: boolean;
}

interface Body {
  readonly call: Permit;
  readonly turn: number | undefined;
  readonly tenant: string;
  readonly depth: number;
  readonly done: () => void;
  left: number;
}

/** Runs one world of many calls: bodies nest, end early, are cancelled while they wait, and outlive their callers. */
export function simulateWorld(seed: number, calls: number, kind: SimulationKind, tally: Tally): void {
  const simulation = new Simulation(seed, calls, kind);
  try {
    simulation.run();
  } catch (error) {
    throw new Error(
      `simulation ${seed} ${JSON.stringify(kind)} ${JSON.stringify(simulation.config)}\n${(error as Error).message}`,
      { cause: error },
    );
  }
  tally.worlds += 1;
  tally.grants += simulation.world.grants;
  tally.deadlocks += simulation.world.deadlocks;
  tally.kept += simulation.world.kept;
}

const MOST_STEPS = 20_000;

class Simulation {
  readonly world: LaneWorld;
  config: ConcurrencyOptions;
  readonly #random: () => number;
  readonly #kind: SimulationKind;
  readonly #calls: number;
  readonly #tenants: number;
  readonly #turns: number;
  readonly #events: { at: number; order: number; happen: () => void }[] = [];
  #ordered = 0;
  /** What the next granted call is. */
  readonly #bodies: Map<Permit, Omit<Body, "call" | "left">> = new Map();
  #asking: Omit<Body, "call" | "left"> | null = null;

  constructor(seed: number, calls: number, kind: SimulationKind) {
    this.#random = seededRandom(seed);
    this.#kind = kind;
    this.#calls = calls;
    this.#tenants = this.#upTo(4);
    this.#turns = 1 + this.#upTo(6);
    this.config = this.#randomConfig();
    this.world = new LaneWorld(this.config, this.#upTo(8));
    for (let turn = 0; turn < this.#turns; turn += 1) this.world.addTurn(this.#randomTurn());
    this.world.onGrant = (call) => this.#start(call);
  }

  run(): void {
    const { world } = this;
    for (let call = 0; call < this.#calls; call += 1) {
      const request = randomRequest(this.#random, this.#tenants, this.#turns);
      this.#after(Math.floor(this.#random() * this.#calls * 0.7), () => this.#ask(request, null, 0, () => {}));
    }
    if (this.#kind.changes === true) {
      for (let change = 0; change < 8; change += 1)
        this.#after(Math.floor(this.#random() * this.#calls), () => this.#change());
    }
    for (let steps = 0; ; steps += 1) {
      if (steps > MOST_STEPS) world.fail("it does not end");
      this.#events.sort((a, b) => b.at - a.at || b.order - a.order);
      const event = this.#events.pop();
      if (event === undefined) {
        // Only time opens what a rate shuts.
        if (world.waiting().length > 0 && world.clock.step(Number.POSITIVE_INFINITY)) {
          if (!world.clock.isDue) world.check();
          continue;
        }
        break;
      }
      world.moveTo(event.at);
      event.happen();
    }
    world.checkEnd();
  }

  #after(delay: number, happen: () => void): void {
    this.#events.push({ at: (this.world?.clock.time ?? 0) + delay, order: this.#ordered, happen });
    this.#ordered += 1;
  }

  #upTo(most: number): number {
    return 1 + Math.floor(this.#random() * most);
  }

  #randomConfig(): ConcurrencyOptions {
    const config = randomConfig(this.#random);
    if (this.#kind.rates !== true) return config;
    const rate = (): { count: number; perSeconds: number } => ({
      count: this.#upTo(3),
      perSeconds: this.#upTo(12) / 1000,
    });
    const perTool = { ...config.perTool, a: { inFlight: this.#upTo(2), starts: rate() }, c: { starts: rate() } };
    return this.#random() < 0.3
      ? { ...config, perTool, perTenant: { inFlight: this.#upTo(3), starts: rate() } }
      : { ...config, perTool };
  }

  #randomTurn(): ConcurrencyOptions {
    const turn = randomTurn(this.#random);
    if (this.#kind.rates !== true || this.#random() < 0.6) return turn;
    const starts = { count: this.#upTo(2), perSeconds: this.#upTo(8) / 1000 };
    return this.#random() < 0.5 ? { ...turn, perTool: { a: { starts } } } : { ...turn, perTenant: { starts } };
  }

  #change(): void {
    const { world } = this;
    this.config = this.#randomConfig();
    // Whatever was taken under the old bounds may exceed the new ones until it ends.
    for (const call of world.calls) for (const lane of call.set.all) world.lowered.add(lane.label);
    const waiting = world.waiting();
    world.configure(this.config);
    // A lowered bound may close a ring, which ends a wait.
    for (const call of waiting) if (call.state === CallState.failed) this.#bodies.get(call)?.done();
  }

  #ask(request: WorldRequest, caller: Permit | null, depth: number, done: () => void): void {
    const { world } = this;
    this.#asking = { turn: request.turn, tenant: request.tenant as string, depth, done };
    const facts = this.#asking;
    const call = world.request(request, caller);
    this.#asking = null;
    this.#bodies.set(call, facts);
    if (call.state === CallState.failed) done();
    if (call.state === CallState.waiting && this.#random() < 0.15) {
      this.#after(Math.floor(this.#random() * 20), () => {
        if (call.state !== CallState.waiting) return;
        world.cancel(call);
        done();
      });
    }
  }

  #start(call: Permit): void {
    const facts = this.#bodies.get(call) ?? this.#asking;
    if (facts === null || facts === undefined) return;
    const body: Body = { ...facts, call, left: 0 };
    const seconds = this.#upTo(10);
    if (body.depth >= 3 || this.#random() >= 0.4) {
      this.#after(seconds, () => this.#finish(body));
      return;
    }
    body.left = this.#upTo(3);
    const nested = body.left;
    const isParallel = this.#random() < 0.5;
    const endsEarly = this.#random() < 0.1;
    const spawn = (place: number): void => {
      if (call.state !== CallState.held) return;
      this.#nest(body, () => {
        body.left -= 1;
        if (!isParallel && place + 1 < nested) this.#after(1, () => spawn(place + 1));
        if (body.left === 0 && !endsEarly) this.#after(1, () => this.#finish(body));
      });
    };
    if (isParallel)
      for (let place = 0; place < nested; place += 1) this.#after(Math.floor(this.#random() * 3), () => spawn(place));
    else this.#after(1, () => spawn(0));
    if (endsEarly) this.#after(seconds + 3, () => this.#endEarly(body));
  }

  #nest(body: Body, done: () => void): void {
    const turn = this.world.addTurn({ maxConcurrentTools: this.#upTo(2) });
    const { turn: _, ...names } = randomRequest(this.#random, this.#tenants, this.#turns);
    const request = { ...names, tenant: body.tenant };
    this.#ask(body.turn === undefined ? request : { ...request, turn }, body.call, body.depth + 1, done);
  }

  /** Its verdict cancels what waits below it; what runs below goes on. */
  #endEarly(body: Body): void {
    const { world } = this;
    if (body.call.state !== CallState.held) return;
    if (this.#kind.deaf === true && this.#random() < 0.5) {
      world.end(body.call);
      body.done();
      return;
    }
    for (const waiting of world.waiting()) {
      if (!isCallerOf(body.call, waiting)) continue;
      world.cancel(waiting);
      this.#bodies.get(waiting)?.done();
    }
    this.#finish(body);
  }

  #finish(body: Body): void {
    const { world } = this;
    if (body.call.state !== CallState.held) return;
    const way = this.#kind.deaf === true ? this.#random() : 0;
    if (way < 0.4) world.release(body.call);
    else if (way < 0.8) world.end(body.call);
    else {
      world.abandon(body.call);
      this.#after(this.#upTo(5), () => world.end(body.call));
    }
    body.done();
  }
}
