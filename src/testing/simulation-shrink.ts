import type { SimulationPlan } from "./simulation-plan.ts";
import { type MakeRunner, type Played, play } from "./simulation-play.ts";

/** A plan that fails, and how. */
export interface FailingPlan {
  readonly plan: SimulationPlan;
  readonly played: Played;
}

/** Plays after which a plan is small enough. */
const MOST_PLAYS = 5_000;

/**
 * Makes a failing plan small: takes away what it can do without and still break the same rule.
 *
 * Knows nothing of what plans mean: of every list it leaves out stretches, of every object members, and times it makes
 * short. What cannot be played breaks no rule, and so is no candidate.
 */
export async function shrink(failing: FailingPlan, makeRunner: MakeRunner | undefined): Promise<FailingPlan> {
  const rule = failing.played.violation?.rule;
  let best = failing;
  let plays = 0;
  for (let grew = true; grew && plays < MOST_PLAYS; ) {
    grew = false;
    // From the outside in: what a large part takes with it need not be looked at.
    for (let place = 0; plays < MOST_PLAYS; place++) {
      const smaller = [...candidates(best.plan, place)];
      if (smaller.length === 0) break;
      for (const smallerPlan of smaller) {
        const found = await stillFailing(smallerPlan);
        if (found === undefined) continue;
        best = found;
        grew = true;
        // What stands in this place now has not been looked at.
        place--;
        break;
      }
    }
  }
  return best;

  /** The plan, or one whose cancels come earlier by what may have been taken away before them. */
  async function stillFailing(plan: SimulationPlan): Promise<FailingPlan | undefined> {
    for (const by of plan.runs?.some(({ cancel }) => (cancel?.nth ?? 1) > 1) === true ? EARLIER : [0]) {
      const tried = by === 0 ? plan : cancelledEarlier(plan, by);
      plays++;
      const played = await play(tried, makeRunner).catch(() => undefined);
      if (played !== undefined && played.violation?.rule === rule) return { plan: tried, played };
    }
    return undefined;
  }
}

const EARLIER = [0, 1, 2, 3, 5];

function cancelledEarlier(plan: SimulationPlan, by: number): SimulationPlan {
  const runs = plan.runs?.map((run) => {
    const { cancel } = run;
    return cancel?.nth === undefined ? run : { ...run, cancel: { ...cancel, nth: Math.max(1, cancel.nth - by) } };
  });
  return { ...plan, ...(runs && { runs }) };
}

/** One member of a list or an object in the plan, in the order of a walk from the outside in. */
interface Member {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/** Plans that are smaller in the member that stands at `place` of the walk; none when there is no such member. */
function* candidates(plan: SimulationPlan, place: number): Generator<SimulationPlan> {
  const member = membersOf(plan)[place];
  if (member === undefined) return;
  const { path, value } = member;
  if (Array.isArray(value) && value.length > 1) {
    const half = Math.ceil(value.length / 2);
    yield replaced(plan, path, value.slice(0, half));
    yield replaced(plan, path, value.slice(half));
  }
  yield replaced(plan, path, undefined);
  // What is nested goes up: turns of a run below stand for those of the run above.
  const name = path.at(-1);
  const within = membersOf(value).filter((inner) => inner.path.at(-1) === name && Array.isArray(inner.value));
  if (typeof name === "string") for (const inner of within) yield replaced(plan, path, inner.value);
  if (typeof value === "number" && value > 10) yield replaced(plan, path, 10);
  if (typeof value === "number" && value > 1) yield replaced(plan, path, Math.floor(value / 2));
}

function membersOf(whole: unknown): Member[] {
  const members: Member[] = [];
  let level: Member[] = [{ path: [], value: whole }];
  while (level.length > 0) {
    const next: Member[] = [];
    for (const { path, value } of level) {
      if (typeof value !== "object" || value === null) continue;
      for (const [key, inner] of Object.entries(value)) {
        next.push({ path: [...path, Array.isArray(value) ? Number(key) : key], value: inner });
      }
    }
    members.push(...next);
    level = next;
  }
  return members;
}

/** A copy of `value` with something else at `path`; `undefined` takes away what is there. */
function replaced<T>(value: T, path: readonly (string | number)[], by: unknown): T {
  const [key, ...rest] = path;
  if (key === undefined) return by as T;
  if (Array.isArray(value)) {
    const at = key as number;
    const inner = rest.length === 0 ? by : replaced(value[at], rest, by);
    return value.toSpliced(at, 1, ...(inner === undefined ? [] : [inner])) as T;
  }
  const { [key]: here, ...others } = value as Record<string | number, unknown>;
  const inner = rest.length === 0 ? by : replaced(here, rest, by);
  if (inner === undefined) return others as T;
  // Written where it stood, so that the order of members stays.
  return Object.fromEntries(
    Object.entries(value as object).map(([name, old]) => [name, name === key ? inner : old]),
  ) as T;
}
