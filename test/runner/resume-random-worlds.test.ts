import {
  agentTool,
  type Decision,
  type JournalEntry,
  MemoryJournal,
  type ModelProvider,
  type Run,
  type RunnerOptions,
  type ToolContext,
  type ToolOptions,
} from "lanekeeper";
import { calls, leakCheck, say, seededRandom } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { afterCrash, WatchedJournal } from "../journal/journals.ts";
import { pendingOf, verdicts } from "./resuming.ts";
import { agent, faults, setUp, tool } from "./setting.ts";

/** The same small number for the same text: what a model asks and what somebody decides depend on where, never on when. */
function chance(seed: number, text: string): (below: number) => number {
  let hash = seed;
  for (const character of text) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0;
  const random = seededRandom(hash);
  return (below) => Math.floor(random() * below);
}

const TOOLS = ["find", "send", "alone", "breaks", "pay", "pay", "payAlone", "sign", "left", "sub", "sub", "subAlone"];

function decisionAbout(seed: number, id: string, tool: string): Decision {
  const which = chance(seed, `decide ${id}`)(tool === "sign" ? 2 : 4);
  if (which === 0) return { result: `answered ${id}` };
  if (which === 1) return { approve: false, reason: `no ${id}` };
  return which === 2 ? { approve: true, args: { edited: id } } : { approve: true };
}

/** Agents that call tools and each other, three deep. `isAsked` says whether decisions come at once, or by resuming. */
function world(seed: number, isAsked: boolean, more: RunnerOptions, declared: Partial<ToolOptions> = {}) {
  const ran: string[] = [];
  const provider: ModelProvider = {
    name: "made-up",
    generate: async (_, { run: { path, turn } }) => {
      const below = chance(seed, `model ${path} ${turn}`);
      if (turn > 1 + below(2)) return say(`done ${path}`);
      const depth = path.split("/").length;
      const names = Array.from(
        { length: 1 + below(4) },
        () => TOOLS[below(depth > 2 ? TOOLS.length - 3 : TOOLS.length)],
      );
      return calls(
        ...names.map((name, at) => ({ id: `${turn}${at}`, name: name as string, args: { input: `${path} ${at}` } })),
      );
    },
  };
  const body =
    (name: string) =>
    async (args: unknown, { idempotencyKey: key, clock, state }: ToolContext): Promise<string> => {
      ran.push(`${name} ${key} ${JSON.stringify(args)}`);
      state.set("seen", [key]);
      await new Promise<void>((resolve) => void clock.setTimer(chance(seed, key)(50), resolve));
      if (name === "breaks") throw new Error(`broken ${key}`);
      return `${name} ${key}`;
    };
  const state = {
    seen: { initial: [], reduce: (old: string[], next: string[]) => [...new Set([...old, ...next])].sort() },
  };
  const sub = (name: string, below: ReturnType<typeof agent>, parallelSafe: boolean) =>
    agentTool(below, { name, description: name, parallelSafe });
  const own = ["find", "send", "alone", "breaks", "pay", "payAlone", "sign", "left"];
  const deepest = agent("deepest", { tools: own, state });
  const deeper = agent("deeper", {
    tools: [...own, sub("sub", deepest, true), sub("subAlone", deepest, false)],
    state,
  });
  const planner = agent("planner", {
    tools: [...own, sub("sub", deeper, true), sub("subAlone", deeper, false)],
    state,
  });
  const lefty = agent("lefty", { tools: ["find"] });
  const tools = [
    tool("find", body("find"), { idempotent: true }),
    tool("send", body("send"), declared),
    tool("alone", body("alone"), { parallelSafe: false, ...declared }),
    tool("breaks", body("breaks"), declared),
    tool("pay", body("pay"), { requiresApproval: true, ...declared }),
    tool("payAlone", body("payAlone"), { requiresApproval: true, parallelSafe: false, ...declared }),
    // Answered from outside; asked at once, an approver answers it.
    isAsked ? tool("sign", () => "never", { requiresApproval: true }) : tool("sign"),
    tool("left", async (_, ctx) => (await ctx.run(lefty, "Go.")).status, declared),
  ];
  const made = setUp(provider, tools, {
    agents: [planner],
    concurrency: { maxConcurrentTools: 1 + chance(seed, "turn")(3), perTool: { pay: 1 + chance(seed, "pay")(2) } },
    ...(isAsked
      ? { approver: async ({ id, tool }: { id: string; tool: string }) => decisionAbout(seed, id, tool) }
      : {}),
    ...more,
  });
  made.clock.autoAdvance = true;
  return { ...made, ran, planner };
}

/** What must not depend on how often and in which order the run was resumed. */
const whole = ({ status, messages, results, usage, state }: Run<unknown>): object => ({
  status,
  messages,
  results: results.map(({ error, ...result }) => ({ ...result, error: error?.toJSON() })),
  usage,
  state,
});

describe("Semantics 2.3, 2.4, 3.5, 3.6, 3.7: made-up worlds, suspended and resumed in made-up order", () => {
  it("end as they do when everybody is asked at once, with each body run once", async () => {
    const from = Number(process.env.SEED ?? 1);
    let resumes = 0;
    for (let seed = from; seed < from + Number(process.env.WORLDS ?? 40); seed++) {
      const at = `seed ${seed}`;
      const asked = world(seed, true, {});
      const expected = await asked.runner.run(asked.planner, "Go.");
      expect(expected.status, at).toBe("completed");

      const below = chance(seed, "resume");
      const journal = below(2) === 0 ? undefined : new WatchedJournal(new MemoryJournal());
      const options = journal === undefined ? {} : { journal };
      let part = world(seed, false, options);
      const events = part.heard;
      const ran = part.ran;
      let leaks = leakCheck(part.runner, { clock: part.clock });
      let run: Run<unknown> = await part.runner.run(part.planner, "Go.");
      await leaks.done();
      for (; run.status === "suspended"; resumes++) {
        const pending = pendingOf(run);
        expect(new Set(pending.map(({ id }) => id)).size, at).toBe(pending.length);
        const listed = [];
        for await (const call of part.runner.pending()) listed.push(call);
        expect(listed, at).toEqual(pending);
        const chosen = pending.filter(() => below(2) === 0);
        const decisions = Object.fromEntries(
          chosen.map(({ id, tool }) => [
            id,
            below(5) === 0 ? ({ suspend: true } as const) : decisionAbout(seed, id, tool),
          ]),
        );
        if (journal !== undefined) {
          part = world(seed, false, options);
          part.clock.autoAdvance = true;
        }
        if (below(3) === 0) {
          const wrong = part.runner.resume(run.id, { decisions: { ...decisions, "run_1/0/9.9": { approve: true } } });
          await expect(wrong, at).rejects.toMatchObject({ code: "CONFIGURATION" });
        }
        leaks = leakCheck(part.runner, { clock: part.clock });
        const before = { heard: part.heard.length, ran: part.ran.length };
        run = await part.runner.resume(run.id, { decisions });
        await leaks.done();
        if (part.heard !== events) {
          events.push(...part.heard.slice(before.heard));
          ran.push(...part.ran.slice(before.ran));
        }
      }
      expect(faults(run), at).toEqual([]);
      expect(whole(run), at).toEqual(whole(expected));
      expect([...ran].sort(), at).toEqual([...asked.ran].sort());
      expect(
        Object.entries(verdicts(events)).filter(([, count]) => count !== 1),
        at,
      ).toEqual([]);
      await expect(part.runner.resume(run.id), at).rejects.toMatchObject({ code: "CONFIGURATION" });
    }
    expect(resumes).toBeGreaterThan(20);
  }, 600_000);

  it("and when the process dies behind any line of the journal, and everything may be run again", async () => {
    const from = Number(process.env.SEED ?? 1);
    let crashes = 0;
    for (let seed = from; seed < from + Number(process.env.WORLDS ?? 40); seed++) {
      const at = `seed ${seed}`;
      const idempotent = { idempotent: true };
      const asked = world(seed, true, {}, idempotent);
      const expected = await asked.runner.run(asked.planner, "Go.");
      const below = chance(seed, "crash");
      let entries: readonly JournalEntry[] = [];
      const watched = (journal: WatchedJournal): WatchedJournal => {
        journal.before = async (step) => {
          if (step === "release") entries = await journal.entries("run_1");
        };
        return journal;
      };
      let journal = watched(new WatchedJournal());
      let part = world(seed, false, { journal }, idempotent);
      let run: Run<unknown> = await part.runner.run(part.planner, "Go.");
      for (let left = 6; run.status === "suspended" || left > 0; ) {
        if (left > 0 && below(2) === 0) {
          left--;
          crashes++;
          journal = watched(await afterCrash("run_1", entries.slice(0, 1 + below(entries.length))));
          part = world(seed, false, { journal }, idempotent);
          run = await part.runner.resume("run_1");
        } else if (run.status === "suspended") {
          const chosen = pendingOf(run).filter(() => below(2) === 0);
          run = await part.runner.resume("run_1", {
            decisions: Object.fromEntries(chosen.map(({ id, tool }) => [id, decisionAbout(seed, id, tool)])),
          });
        }
      }
      expect(faults(run), at).toEqual([]);
      // A body that ran an agent and is run again takes of its model again.
      const ofLefty =
        run.results.some(({ name }) => name === "left") ||
        asked.heard.some((one) => "tool" in one && one.tool === "left");
      const usage = ofLefty ? expected.usage : run.usage;
      expect({ ...whole(run), usage }, at).toEqual(whole(expected));
    }
    expect(crashes).toBeGreaterThan(20);
  }, 600_000);
});
