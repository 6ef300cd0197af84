import { LanekeeperError, MemoryJournal } from "lanekeeper";
import {
  breaksOff,
  calls,
  checkRequest,
  Deferred,
  FakeClock,
  Gate,
  leakCheck,
  ScriptedProvider,
  SequentialIds,
  say,
  seededRandom,
  TestingError,
  Witness,
} from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { type Door, fuzzedDoors } from "./doors.ts";
import { isMistake, isMistakeOrTheirs, isTold } from "./promises.ts";

/** The kit also says that a test and what it drives do not fit together. */
function isMistakeOrMismatch(error: unknown): void {
  if (error instanceof TestingError) isTold(error);
  else isMistake(error);
}

const call = { signal: new AbortController().signal, run: { id: "r", path: "0", turn: 1, agent: "a", tenant: "t" } };
const request = () => ({
  model: "m",
  instructions: "Plan.",
  messages: [
    { role: "user", content: [{ type: "text", text: "Go." }] },
    { role: "assistant", content: "", toolCalls: [{ id: "a", name: "search", args: { q: [1] } }] },
    { role: "tool", callId: "a", name: "search", content: "found", isError: false },
  ],
  tools: [{ name: "search", description: "Looks.", inputSchema: { type: "object" } }],
  settings: { temperature: 0 },
});

/** Asks until the script is at its end. */
async function asks(provider: ScriptedProvider): Promise<void> {
  const ask = { model: "m", instructions: "", messages: [], tools: [], settings: {} };
  await provider.generate(ask, call);
  for await (const { type } of provider.stream(ask, call)) expect(typeof type).toBe("string");
  provider.assertFinished();
}

/** Everything that is wrong is told, a thousand million times too. */
const HUGE = /2 \*\* 30/;

const kit: Record<string, Door> = {
  FakeClock: {
    right: () => [{ startAt: 5, autoAdvance: false, traceTimers: true }],
    go: async ([options]: [never]) => {
      const clock = new FakeClock(options);
      let fired = 0;
      clock.setTimer(10, () => fired++, { background: true });
      await clock.advance(1);
      expect([fired, clock.monotonic()]).toEqual([1, 1_000]);
      expect(Number.isFinite(clock.now())).toBe(true);
    },
  },
  "moves of a clock": {
    isRefusal: (error) => (error instanceof TestingError ? isTold(error) : isMistakeOrTheirs(error)),
    right: () => [1, 10, { background: true }, 3, { allowBackground: true }],
    go: async ([seconds, delay, timer, jump, idle]: [number, number, object, number, object]) => {
      const clock = new FakeClock();
      clock.setTimer(delay, () => {}, timer);
      clock.jumpWallClock(jump);
      await clock.advance(seconds);
      clock.assertIdle(idle);
    },
  },
  ScriptedProvider: {
    right: () => [calls({ search: { q: "x" } }), say("Done.")],
    go: (steps: [never, never]) => asks(new ScriptedProvider(...steps)),
    // A step may throw anything, and what it is when it is read is the test's own.
    isRefusal: () => {},
  },
  "a script by agent": {
    isRefusal: () => {},
    right: () => [{ a: [calls({ search: { q: "x" } }), say("Done.")] }],
    go: ([scripts]: [never]) => asks(ScriptedProvider.byAgent(scripts)),
  },
  calls: {
    right: () => [
      { search: { q: "x" }, other: {} },
      { id: "a", name: "search", args: "{}" },
    ],
    go: (written: [never, never]) => expect(Array.isArray(calls(...written).toolCalls)).toBe(true),
  },
  breaksOff: {
    right: () => [2],
    go: async ([after]: [number]) => {
      const provider = new ScriptedProvider(breaksOff(say("x"), after, new Error("lost")));
      await expect(asks(provider)).rejects.toThrow("lost");
    },
  },
  checkRequest: {
    without: HUGE,
    right: () => [request()],
    go: ([asked]: [never]) => {
      const problems = checkRequest(asked);
      expect(problems.every((problem) => typeof problem === "string")).toBe(true);
    },
    isRefusal: (error) => {
      throw error;
    },
  },
  leakCheck: {
    sealed: ["0"],
    right: ({ clock }) => [
      { lanes: () => [{ lane: "x", inFlight: 0, waiting: 0 }] },
      {
        clock,
        allowBackground: true,
        signal: new AbortController().signal,
        signals: [new AbortController().signal],
        provider: new ScriptedProvider(),
      },
    ],
    go: (args: [never, never]) => leakCheck(...args).done(),
  },
  seededRandom: {
    right: () => [7],
    go: ([seed]: [never]) => expect(seededRandom(seed)()).toBeLessThan(1),
  },
  "what a body waits at": {
    right: () => ["label", { any: "value" }],
    go: async ([label, value]: [string, unknown], { clock }) => {
      const gate = new Gate<unknown>();
      const held = gate.wait(label);
      gate.open(label, 1);
      expect(await clock.promptly(held)).toBe(1);
      const deferred = new Deferred<unknown>();
      deferred.reject(value);
      const witness = new Witness();
      witness.enter(label)();
      expect(witness.starts(label)).toBe(1);
      expect(new SequentialIds().next(label as "run")).toBe(`${label}_1`);
    },
    isRefusal: () => {},
  },
  "a journal in memory": {
    right: () => ["mine", "new", [{ kind: "run_begun", path: "0" }], { status: "suspended", tenant: "t", pending: [] }],
    go: async ([runId, as, entries, how]: [never, never, never, never]) => {
      const journal = new MemoryJournal();
      const claim = await journal.claim(runId, as);
      await journal.append(claim, entries);
      await journal.release(claim, how);
    },
    // Journals are asked by the runtime: what cannot be kept may be told in any way, and is a JournalError to a run.
    isRefusal: (error) => expect(LanekeeperError.is(error) || error instanceof Error).toBe(true),
  },
};

describe("Semantics 2.8, 10.1: the testing kit tells a mistake in a test as one", () => {
  const doors = Object.entries(kit).map(([name, door]) => [name, { isRefusal: isMistakeOrMismatch, ...door }]);
  fuzzedDoors({ name: "testing kit", share: 0.05, seed: 20_250_106, atLeast: 1 }, Object.fromEntries(doors));
});
