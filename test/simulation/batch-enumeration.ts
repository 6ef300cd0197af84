/** Walks a small world through every order of what may happen next, and holds it against the rules after each step. */
import type { RunEvent, RunEventKind } from "lanekeeper";
import { checkRequest } from "lanekeeper/testing";
import { type Move, Play } from "./batch-play.ts";
import { everyFate, type Fate, Rules, type RunFate } from "./batch-rules.ts";
import { nameOf, someOf, type Variety, type World, worldsOf } from "./batch-worlds.ts";

/** What was walked, and what happened on the way. */
export interface BatchTally {
  worlds: number;
  paths: number;
  steps: number;
  verdicts: Record<string, number>;
  abandoned: number;
  overdue: number;
}

/**
 * Walks, with `WORLDS=all`, every world of a set that takes hours; with `WORLDS=500`, so many of it, by `SEED`.
 *
 * Without it, none.
 */
export async function walkAsAsked(variety: Variety): Promise<BatchTally> {
  const { WORLDS = "0", SEED = "1" } = process.env;
  return walkWorlds(WORLDS === "all" ? worldsOf(variety) : someOf(variety, Number(WORLDS), Number(SEED)));
}

/** Walks all these worlds, and prints how much that was. */
export async function walkWorlds(worlds: Iterable<World>): Promise<BatchTally> {
  const tally: BatchTally = { worlds: 0, paths: 0, steps: 0, verdicts: {}, abandoned: 0, overdue: 0 };
  for (const world of worlds) await walkWorld(world, tally);
  process.stdout.write(`${JSON.stringify(tally)}\n`);
  return tally;
}

/**
 * Walks every path of one world, depth first, each from its start.
 *
 * @throws the first fault, with the world and the path that leads there.
 */
async function walkWorld(world: World, tally: BatchTally): Promise<void> {
  /** 2.3: what a run tells, by what became of its calls. */
  const told = new Map<string, string>();
  const open: Move[][] = [[]];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    try {
      await walk(world, path, open, told, tally);
    } catch (error) {
      throw new Error(`${nameOf(world)}\n${path.join(", ")}\n${(error as Error).message}`, { cause: error });
    }
    tally.paths += 1;
  }
  tally.worlds += 1;
}

async function walk(
  world: World,
  path: Move[],
  open: Move[][],
  told: Map<string, string>,
  tally: BatchTally,
): Promise<void> {
  const play = new Play(world);
  const rules = new Rules(play);
  const make = async (move: Move | undefined): Promise<void> => {
    await (move === undefined ? play.settle() : play.make(move));
    rules.take(move);
    rules.check();
    tally.steps += 1;
  };
  await make(undefined);
  for (const move of path) await make(move);
  for (let [first, ...others] = rules.moves(); first !== undefined; [first, ...others] = rules.moves()) {
    for (const other of others) open.push([...path, other]);
    path.push(first);
    await make(first);
  }
  await play.done();
  checkEnd(play, rules);
  const fates = [...rules.fates.values()];
  const became = JSON.stringify([rules.root.isWhole, rules.root.stop, fates.map(({ verdict }) => verdict)]);
  const tells = JSON.stringify([play.run?.messages, play.run?.events], untimed);
  same("what the run tells", tells, told.get(became) ?? tells);
  told.set(became, tells);
  for (const { verdict, overdue } of fates) {
    const status = verdict?.status ?? "none";
    tally.verdicts[status] = (tally.verdicts[status] ?? 0) + 1;
    if (overdue === "tool_abandoned") tally.abandoned += 1;
    if (overdue === "tool_overdue") tally.overdue += 1;
  }
}

/** Measured times aside. */
function untimed(name: string, value: unknown): unknown {
  return name === "at" || name === "seconds" || name === "waitedSeconds" ? undefined : value;
}

const VERDICTS = ["tool_result", "tool_error", "tool_indeterminate"];
const AFTERLIFE = ["tool_late_result", "tool_overdue", "tool_abandoned"];
const ENDINGS = ["run_completed", "run_failed", "run_cancelled", "run_suspended"];

/** What must hold of the whole when nothing is left to happen. */
function checkEnd(play: Play, { root, fates }: Rules): void {
  const { run, live } = play;
  if (run === undefined) throw new Error("the run never settled");
  same("what a vendor refuses", play.refused, []);
  same("how the run ended", [run.status, "error" in run ? run.error.code : undefined], [root.status, root.stop?.code]);
  const asked = root.calls.filter(({ isAsked }) => isAsked);
  // 2.4, 7, 8: one result each, in call order.
  same(
    "its results",
    run.results.map(({ callId, name, status, content, mayHaveLanded }) => [
      callId,
      name,
      status,
      content,
      mayHaveLanded,
    ]),
    asked.map(({ spec: { key }, spec, verdict }) => [
      key,
      play.toolOf(spec),
      verdict?.status,
      verdict?.content,
      verdict?.mayHaveLanded,
    ]),
  );
  const answers = asked.map(({ spec: { key }, spec, verdict }) => {
    return {
      role: "tool",
      callId: key,
      name: play.toolOf(spec),
      content: verdict?.content,
      isError: verdict?.status !== "ok",
    };
  });
  const last = root.stop === undefined ? [{ role: "assistant", content: "all done" }] : [];
  const [, request, ...rest] = run.messages;
  same("its transcript", rest, root.isWhole ? [...answers, ...last] : []);
  same("its request", request?.role, root.isWhole ? "assistant" : undefined);
  const transcript = { model: "m", instructions: "", messages: [...run.messages], tools: [], settings: {} };
  same("what a vendor refuses of it", checkRequest(transcript), []);
  // 2.3: nothing of the run is told behind its end, but what becomes of the bodies that outlived it.
  const end = live.findIndex(({ path, kind }) => path === "0" && ENDINGS.includes(kind));
  same(
    "what is told behind the end",
    live.slice(end + 1).filter(({ kind }) => !AFTERLIFE.includes(kind)),
    [],
  );
  for (const fate of fates.values()) checkEvents(fate, run.events, live);
  checkRuns(root, run.events);
}

/** The events of one call: as they are kept, and what was told behind its verdict. */
function checkEvents(
  { spec: { key }, isAsked, hasStarted, verdict, overdue }: Fate,
  kept: readonly RunEvent[],
  live: readonly RunEvent[],
): void {
  const of = (events: readonly RunEvent[]): RunEvent[] =>
    events.filter((event) => "callId" in event && event.callId === key);
  if (!isAsked) {
    same(`the events of ${key}`, of(live), []);
    return;
  }
  const terminal =
    verdict?.status === "ok"
      ? "tool_result"
      : verdict?.status === "indeterminate"
        ? "tool_indeterminate"
        : "tool_error";
  const expected = [
    "tool_requested",
    "tool_queued",
    ...(hasStarted ? ["tool_dispatched"] : []),
    ...(hasStarted && verdict?.wasCutOff === false ? ["tool_completed"] : []),
    terminal,
  ];
  same(`the events of ${key}`, kindsOf(of(kept)), expected);
  const [told] = of(kept).filter(({ kind }) => VERDICTS.includes(kind));
  const content = told?.kind === "tool_result" ? told.content : told && "detail" in told ? told.detail : undefined;
  const landed = told !== undefined && "mayHaveLanded" in told && told.mayHaveLanded;
  same(`the verdict of ${key}`, [content, landed], [verdict?.content, verdict?.mayHaveLanded]);
  // Live they come in the same order, beside what became of a body that outlived its verdict.
  const behind = [...(overdue === undefined ? [] : [overdue]), ...(verdict?.wasCutOff ? ["tool_late_result"] : [])];
  same(`what is told live of ${key}`, kindsOf(of(live)).toSorted(), [...expected, ...behind].toSorted());
  const before = kindsOf(of(live)).filter((kind) => !AFTERLIFE.includes(kind));
  same(`what is told live of ${key} in order`, before, expected);
}

/** Each run has one start and one end, and its calls' events between them. */
function checkRuns(root: RunFate, kept: readonly RunEvent[]): void {
  const started = everyFate(root).filter(({ below, hasStarted }) => below !== undefined && hasStarted);
  const statuses = new Map([["0", root.status]]);
  for (const { spec, below } of started) statuses.set(`0/1.${spec.key}`, below?.status ?? "completed");
  for (const [path, status] of statuses) {
    const own = kindsOf(kept.filter((event) => event.path === path && /^run_/.test(event.kind)));
    same(`the run at ${path}`, own, ["run_started", `run_${status}`]);
  }
  same("how many runs there were", kept.filter(({ kind }) => kind === "run_started").length, statuses.size);
}

function kindsOf(events: readonly RunEvent[]): RunEventKind[] {
  return events.map(({ kind }) => kind);
}

function same(what: string, found: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: expected ${b}, got ${a}`);
}
