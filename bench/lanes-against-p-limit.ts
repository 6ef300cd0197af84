/**
 * What lanes cost beside p-limit: 20,000 tasks that do nothing, 8 at once, asked for in one go.
 *
 *     npm run bench:lanes
 *
 * Each variant runs alone in a process of its own, several times in turn with the others: in one process the state of
 * compiler and collector moves ratios by a third. Shown is the median of all rounds, the fastest, and the ratio to
 * p-limit's single limit under the same circumstances: some hosts make every promise slower once a process uses
 * AsyncLocalStorage, as `use` does so that calls nest.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Lanes } from "lanekeeper/lanes";
import pLimit from "p-limit";
import { Bench } from "tinybench";

const TASKS = 20_000;
const LIMIT = 8;
const WARM_UP = 5;
const ROUNDS = 15;
const PROCESSES = 3;

const nothing = async (): Promise<void> => {};
type Ask = (task: number) => Promise<unknown>;

interface Variant {
  readonly name: string;
  /** What it is compared with. */
  readonly baseline: string;
  readonly makeAsk: () => Ask;
}

const config = { perTenant: LIMIT, perTool: { search: LIMIT }, perResource: { maps: LIMIT } };
const PLAIN = "p-limit, 1 limit";
const WITH_STORAGE = "p-limit, 1 limit, AsyncLocalStorage in use";

function enterStorage(): void {
  new AsyncLocalStorage<number>().run(1, () => {});
}

function nestedLimits(): Ask {
  const [tenant, turn, tool] = [pLimit(LIMIT), pLimit(LIMIT), pLimit(LIMIT)];
  return () => tenant(() => turn(() => tool(nothing)));
}

/** By hand, without async context: for whoever needs no nesting. */
function byHand(lanes: Lanes, requestOf: (task: number) => Parameters<Lanes["acquire"]>[0]): Ask {
  return (task) =>
    lanes.acquire(requestOf(task)).then((permit) => {
      const end = (): void => permit.release();
      const done = nothing();
      done.then(end, end);
      return done;
    });
}

const variants: Variant[] = [
  {
    name: PLAIN,
    baseline: PLAIN,
    makeAsk: () => {
      const limit = pLimit(LIMIT);
      return () => limit(nothing);
    },
  },
  { name: "p-limit, 3 nested", baseline: PLAIN, makeAsk: nestedLimits },
  {
    name: "lanes, 1 lane, acquire",
    baseline: PLAIN,
    makeAsk: () => byHand(new Lanes(config), () => ({ tool: "search" })),
  },
  {
    name: "lanes, 3 lanes, acquire",
    baseline: PLAIN,
    makeAsk: () => {
      const lanes = new Lanes(config);
      const request = { tenant: "acme", turn: lanes.turn({ maxConcurrentTools: LIMIT }), tool: "search" };
      return byHand(lanes, () => request);
    },
  },
  {
    name: WITH_STORAGE,
    baseline: WITH_STORAGE,
    makeAsk: () => {
      enterStorage();
      const limit = pLimit(LIMIT);
      return () => limit(nothing);
    },
  },
  {
    name: "p-limit, 3 nested, AsyncLocalStorage in use",
    baseline: WITH_STORAGE,
    makeAsk: () => {
      enterStorage();
      return nestedLimits();
    },
  },
  {
    name: "lanes, 1 lane, use",
    baseline: WITH_STORAGE,
    makeAsk: () => {
      const lanes = new Lanes(config);
      return () => lanes.use({ tool: "search" }, nothing);
    },
  },
  {
    name: "lanes, 3 lanes, use",
    baseline: WITH_STORAGE,
    makeAsk: () => {
      const lanes = new Lanes(config);
      const request = { tenant: "acme", turn: lanes.turn({ maxConcurrentTools: LIMIT }), tool: "search" };
      return () => lanes.use(request, nothing);
    },
  },
  {
    name: "lanes, 3 lanes, use, 1,000 tenants with a turn each",
    baseline: WITH_STORAGE,
    makeAsk: () => {
      const lanes = new Lanes(config);
      const requests = Array.from({ length: 1000 }, (_, at) => ({
        tenant: `t${at}`,
        turn: lanes.turn({ maxConcurrentTools: LIMIT }),
        tool: "search",
      }));
      return (task) => lanes.use(requests[task % 1000] as (typeof requests)[0], nothing);
    },
  },
  {
    name: "lanes, 3 lanes, use, one shared signal",
    baseline: WITH_STORAGE,
    makeAsk: () => {
      const lanes = new Lanes(config);
      const request = { tenant: "acme", turn: lanes.turn({ maxConcurrentTools: LIMIT }), tool: "search" };
      const options = { signal: new AbortController().signal };
      return () => lanes.use(request, nothing, options);
    },
  },
  {
    name: "lanes, 6 lanes, use, arguments of its own each",
    baseline: WITH_STORAGE,
    makeAsk: () => {
      const lanes = new Lanes(config);
      const turn = lanes.turn({ maxConcurrentTools: LIMIT, perTool: { search: LIMIT } });
      return (task) =>
        lanes.use({ tenant: "acme", turn, tool: "search", resource: "maps", arguments: `${task}` }, nothing);
    },
  },
];

/** How long each round took, in milliseconds. */
async function measure({ name, makeAsk }: Variant): Promise<number[]> {
  const ask = makeAsk();
  const bench = new Bench({
    time: 0,
    iterations: ROUNDS,
    warmupTime: 0,
    warmupIterations: WARM_UP,
    retainSamples: true,
    throws: true,
  });
  bench.add(name, async () => {
    const all: Promise<unknown>[] = [];
    for (let task = 0; task < TASKS; task += 1) all.push(ask(task));
    await Promise.all(all);
  });
  const [task] = await bench.run();
  const result = task?.result;
  if (result === undefined || !("latency" in result)) throw new Error(`${name}: no result`);
  return [...(result.latency.samples ?? [])];
}

/** Bytes that one waiting call keeps alive, its promise included. */
async function bytesPerWaiting(ask: (task: Promise<void>) => Promise<unknown>): Promise<number> {
  const collect = (globalThis as { gc?: () => void }).gc as () => void;
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const before: Promise<unknown>[] = [];
  for (let task = 0; task < LIMIT; task += 1) before.push(ask(opened));
  const all: Promise<unknown>[] = new Array(100_000);
  collect();
  const from = process.memoryUsage().heapUsed;
  for (let task = 0; task < all.length; task += 1) all[task] = ask(opened);
  collect();
  const bytes = (process.memoryUsage().heapUsed - from) / all.length;
  open();
  await Promise.all([...before, ...all]);
  return bytes;
}

function memoryOf(name: string): Promise<number> {
  if (name === "memory: p-limit") {
    const limit = pLimit(LIMIT);
    return bytesPerWaiting((opened) => limit(() => opened));
  }
  const lanes = new Lanes(config);
  const request = { tenant: "acme", turn: lanes.turn({ maxConcurrentTools: LIMIT }), tool: "search" };
  return bytesPerWaiting((opened) => lanes.use(request, () => opened));
}

function inOwnProcess(name: string, flags: string[] = []): number[] {
  const run = spawnSync(process.execPath, [...process.execArgv, ...flags, fileURLToPath(import.meta.url), name], {
    encoding: "utf8",
  });
  if (run.status !== 0) throw new Error(`${name}: ${run.stderr}`);
  return JSON.parse(run.stdout) as number[];
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
}

function compareAll(): void {
  const rounds = new Map<string, number[]>(variants.map(({ name }) => [name, []]));
  for (let process = 0; process < PROCESSES; process += 1) {
    for (const { name } of variants) rounds.get(name)?.push(...inOwnProcess(name));
  }
  const usOf = (ms: number): number => (ms * 1000) / TASKS;
  const rows = variants.map(({ name, baseline }) => {
    const own = rounds.get(name) as number[];
    const other = rounds.get(baseline) as number[];
    return {
      variant: name,
      "µs a task": usOf(median(own)).toFixed(2),
      fastest: usOf(Math.min(...own)).toFixed(2),
      "to p-limit's 1": (median(own) / median(other)).toFixed(2),
    };
  });
  console.table(rows);
  for (const name of ["memory: p-limit", "memory: lanes, 3 lanes, use"]) {
    console.log(`${name}: ${Math.round(inOwnProcess(name, ["--expose-gc"])[0] as number)} bytes a waiting call`);
  }
}

const asked = process.argv[2];
if (asked === undefined) compareAll();
else if (asked.startsWith("memory")) process.stdout.write(JSON.stringify([await memoryOf(asked)]));
else process.stdout.write(JSON.stringify(await measure(variants.find(({ name }) => name === asked) as Variant)));
