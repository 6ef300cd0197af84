import type { ConcurrencyOptions } from "../../src/lanes/concurrency-config.ts";
import { CallState, type Permit } from "../../src/lanes/permit.ts";
import { seededRandom } from "../../src/testing/seeded-random.ts";
import { LaneWorld, type Tally, type WorldRequest } from "./lane-world.ts";

type Random = () => number;
const upTo = (random: Random, most: number): number => 1 + Math.floor(random() * most);

export function randomConfig(random: Random): ConcurrencyOptions {
  return {
    perTenant: upTo(random, 3),
    perTool: { a: upTo(random, 2), b: upTo(random, 2), c: upTo(random, 3) },
    perResource: { R: upTo(random, 2) },
  };
}

/** Bounds of mostly 1: here four calls are enough to starve one and to close a ring. */
function tightConfig(random: Random): ConcurrencyOptions {
  return {
    ...(random() < 0.4 ? { perTenant: upTo(random, 2) } : {}),
    perTool: { a: 1, b: 1, c: 1 },
    ...(random() < 0.3 ? { perResource: { R: 2 } } : {}),
  };
}

export function randomTurn(random: Random): ConcurrencyOptions {
  const narrowed = random();
  return {
    maxConcurrentTools: upTo(random, 3),
    ...(narrowed < 0.3 ? { perTool: { a: 1 } } : {}),
    ...(narrowed > 0.85 ? { perResource: { R: 1 } } : {}),
  };
}

export function randomRequest(random: Random, tenants: number, turns: number): WorldRequest {
  const tool = "abc"[Math.floor(random() * 3)] as string;
  const turn = Math.floor(random() * turns);
  const isAlone = random() < 0.2 && tool === "a";
  const key = Math.floor(random() * 2);
  const isExclusive = random() < 0.08;
  const hasTurn = random() >= 0.1;
  return {
    tool,
    tenant: `t${turn % tenants}`,
    ...(tool === "c" ? {} : { resource: "R" }),
    ...(isAlone ? { arguments: `k${key}` } : {}),
    ...(isExclusive ? { exclusive: "x" } : {}),
    ...(hasTurn ? { turn } : {}),
  };
}

/** Each of the first two calls has a tool that what is nested in the other wants, too. */
function tightTool(place: number, random: Random): string {
  return random() < 0.2 ? "c" : place % 4 === 0 || place % 4 === 3 ? "a" : "b";
}

/** In a tight world the first two calls have all the others nested in them: that is how rings close. */
function callerOf(place: number, isNested: boolean, isTight: boolean, random: Random): number {
  if (!isNested || place === 0) return -1;
  if (isTight) return place === 1 ? -1 : random() < 0.2 ? -1 : place % 2;
  return random() < 0.5 ? Math.floor(random() * place) : -1;
}

interface EnumeratedCall {
  readonly request: WorldRequest;
  /** Which call it is nested in; -1 for none. */
  readonly within: number;
}

type Move = "ask" | "cancel" | number;

/** Walks every order of asking, releasing whichever is held, and cancelling one call, of one small world. */
export function enumerateWorld(seed: number, calls: number, mostPaths: number, tally: Tally): void {
  const random = seededRandom(seed);
  const tenants = random() < 0.3 ? 3 : 2;
  const isTight = random() < 0.5;
  const config = isTight ? tightConfig(random) : randomConfig(random);
  const limit = isTight ? 1 : upTo(random, 3);
  const turns = Array.from({ length: 3 }, () => randomTurn(random));
  const isNested = random() < 0.5;
  const asked: EnumeratedCall[] = [];
  for (let place = 0; place < calls; place += 1) {
    const anyRequest = randomRequest(random, tenants, 3);
    const request: WorldRequest = isTight ? { ...anyRequest, tool: tightTool(place, random) } : anyRequest;
    const within = callerOf(place, isNested, isTight, random);
    asked.push({
      request: within < 0 ? request : below(request, (asked[within] as EnumeratedCall).request, turns, random),
      within,
    });
  }
  const cancelled = Math.floor(random() * calls);

  const open: Move[][] = [[]];
  for (let paths = 0; open.length > 0 && paths < mostPaths; paths += 1) {
    const path = open.pop() as Move[];
    const world = new LaneWorld(config, limit);
    try {
      walk(world, turns, asked, cancelled, path, open);
    } catch (error) {
      const described = JSON.stringify({ seed, config, limit, turns, asked, cancelled, path });
      throw new Error(`world ${described}\n${(error as Error).message}`, { cause: error });
    }
    tally.paths += 1;
    tally.grants += world.grants;
    tally.deadlocks += world.deadlocks;
    tally.kept += world.kept;
  }
  tally.worlds += 1;
}

function below(request: WorldRequest, caller: WorldRequest, turns: ConcurrencyOptions[], random: Random): WorldRequest {
  const { turn: _, ...names } = request;
  const tenant = caller.tenant as string;
  if (caller.turn === undefined) return { ...names, tenant };
  turns.push({ maxConcurrentTools: upTo(random, 2) });
  return { ...names, tenant, turn: turns.length - 1 };
}

function walk(
  world: LaneWorld,
  turns: ConcurrencyOptions[],
  asked: EnumeratedCall[],
  cancelled: number,
  path: Move[],
  open: Move[][],
): void {
  for (const turn of turns) world.addTurn(turn);
  const calls: (Permit | null)[] = [];
  let wasCancelled = false;
  const move = (next: Move): void => {
    if (next === "ask") {
      const { request, within } = asked[calls.length] as EnumeratedCall;
      const caller = within < 0 ? null : (calls[within] ?? null);
      // A call whose caller has gone, or never went out, is never asked for.
      calls.push(within >= 0 && caller?.state !== CallState.held ? null : world.request(request, caller));
    } else if (next === "cancel") {
      wasCancelled = true;
      world.cancel(calls[cancelled] as Permit);
    } else world.release(calls[next] as Permit);
  };
  for (const next of path) move(next);
  for (;;) {
    const moves: Move[] = calls.length < asked.length ? ["ask"] : [];
    calls.forEach((call, place) => {
      if (call?.state !== CallState.held) return;
      // Bodies with nested calls mostly outlive them; every third ends before they do.
      if (call.nesting === null || call.nesting.isAlone || place % 3 === 0) moves.push(place);
    });
    if (!wasCancelled && calls[cancelled]?.state === CallState.waiting) moves.push("cancel");
    const [first, ...others] = moves;
    if (first === undefined) break;
    for (const other of others) open.push([...path, other]);
    path.push(first);
    move(first);
  }
  world.checkEnd();
}
