import fc from "fast-check";
import type { ModelProvider } from "lanekeeper";
import { leakCheck } from "lanekeeper/testing";
import { describe, expect } from "vitest";
import { agent, setUp, tool } from "../runner/setting.ts";
import { fuzzed } from "./fuzzed.ts";
import { isWhole, settled, wouldRefuse } from "./promises.ts";
import { Answer, answer, hostile, plain, Recipe } from "./recipe.ts";

const MAX_RESULT_BYTES = 1_000;

/** Without errors that only say that they are ours: they are asked for their JSON as ours are. */
const hurting = (): fc.Arbitrary<Recipe> => hostile().filter(({ text }) => !text.includes("forged"));

const text = (value: string): Recipe => new Recipe(JSON.stringify(value), () => value);
const texts = (...values: string[]): fc.Arbitrary<Recipe> => fc.constantFrom(...values.map(text));

/** A member made of members, each by its own recipe. */
const record = (members: Record<string, fc.Arbitrary<Recipe>>): fc.Arbitrary<Recipe> =>
  fc
    .record(members)
    .map(
      (made) =>
        new Recipe(`{ ${Object.entries(made).map(([key, { text }]) => `${key}: ${text}`)} }`, () =>
          Object.fromEntries(Object.entries(made).map(([key, { make }]) => [key, make()])),
        ),
    );

const list = (members: fc.Arbitrary<Recipe[]>): fc.Arbitrary<Recipe> =>
  members.map((made) => new Recipe(`[${made.map((one) => one.text)}]`, () => made.map(({ make }) => make())));

/** Mostly what is right, sometimes what hurts. */
const mostly = (right: fc.Arbitrary<Recipe>, weight = 12): fc.Arbitrary<Recipe> =>
  fc.oneof({ arbitrary: right, weight }, { arbitrary: hurting(), weight: 1 });

// Without half a character in an id: the first use of an id is never changed, and vendors take none of those.
const ids = mostly(
  fc.oneof(
    { arbitrary: fc.uuid().map(text), weight: 4 },
    texts("a", "a_2", "", " ", "call_1_0", "__proto__", "x".repeat(300), "é\u0000\n"),
  ),
).filter(({ text }) => text !== '"\\ud800"');
const names = mostly(
  fc.oneof(
    { arbitrary: texts("echo", "write", "ask"), weight: 20 },
    texts("nowhere", "constructor", "__proto__", "toString", "", " ", "é!", "x".repeat(65), "outside"),
  ),
);
const args = mostly(
  fc.oneof(
    { arbitrary: fc.jsonValue().map((value) => text(JSON.stringify({ value }))), weight: 4 },
    {
      arbitrary: fc
        .dictionary(fc.string(), fc.jsonValue())
        .map((value) => new Recipe(JSON.stringify(value), () => value)),
      weight: 4,
    },
    plain(),
    texts("", "{}", "null", "[]", '{"a":', '{"__proto__":{"polluted":1}}', '"{}"', '{"a":"\\ud800"}', "\ud800"),
    fc.constantFrom(200, 300, 5_000).map((depth) => text(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`)),
  ),
  6,
);
const call = mostly(record({ id: ids, name: names, args }), 40);
const toolCalls = mostly(
  list(
    fc.oneof(
      { arbitrary: fc.array(call, { minLength: 1, maxLength: 4 }), weight: 20 },
      { arbitrary: call.map((one) => Array.from({ length: 140 }, () => one)), weight: 1 },
    ),
  ),
  30,
);
const response = mostly(
  record({
    content: mostly(texts("", "Hello.", "\ud83d half", "x".repeat(2_000)), 40),
    toolCalls,
    usage: mostly(record({ inputTokens: plain(), outputTokens: plain() }), 6),
    finishReason: mostly(
      fc.oneof(
        { arbitrary: texts("tool_calls", "stop", "other"), weight: 9 },
        texts("length", "refusal", "content_filter"),
      ),
      40,
    ),
    vendor: fc.oneof({ arbitrary: texts("opaque"), weight: 4 }, plain()),
  }),
  40,
);

/** What becomes of a stream's pieces: each is kept, dropped, told twice, told late, changed, or the last. */
const FATES = ["kept", "dropped", "twice", "late", "instead", "breaks"] as const;
const fate = fc.record({
  fate: fc.oneof({ arbitrary: fc.constant("kept" as const), weight: 12 }, fc.constantFrom(...FATES)),
  what: hurting(),
});
const turn = fc.record({
  answer: fc.oneof({ arbitrary: response.map((made) => new Answer("resolves", made)), weight: 9 }, answer(response)),
  fates: fc.array(fate, { maxLength: 12 }),
  /** Given instead of an iterable; mostly not. */
  stream: fc.oneof(
    { arbitrary: fc.constant(null), weight: 15 },
    answer(hurting()).filter(({ how }) => how === "throws" || how === "returns"),
  ),
});

type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;

async function* streamed({ answer, fates }: Turn): AsyncGenerator<unknown> {
  const whole = (await answer.give()) as { toolCalls?: unknown };
  const pieces: unknown[] = [{ type: "text", text: "Let me see." }];
  for (const [index, one] of Array.from((whole?.toolCalls ?? []) as ArrayLike<unknown>)
    .slice(0, 20)
    .entries()) {
    const { id, name, args } = one as Record<string, unknown>;
    const argsText = typeof args === "string" ? args : JSON.stringify(args);
    pieces.push({ type: "tool_call_start", index, id, name });
    pieces.push({ type: "tool_call_delta", index, argsText }, { type: "tool_call_end", index });
  }
  const late: unknown[] = [];
  for (const [at, piece] of pieces.entries()) {
    const { fate, what } = fates[at] ?? { fate: "kept" };
    if (fate === "kept" || fate === "twice") yield piece;
    if (fate === "twice") yield piece;
    if (fate === "late") late.push(piece);
    if (fate === "instead") yield what?.make();
    if (fate === "breaks") throw what?.make();
  }
  yield* late;
  yield { type: "end", response: whole };
}

describe("Semantics 2.4, 2.5, 2.8, 3.10: whatever a model answers, its run resolves, and each call has its result", () => {
  fuzzed(
    "answers and streams of any kind, in both ways to dispatch",
    { name: "model responses", share: 0.25, seed: 20_250_101, atLeast: 30 },
    fc.record({
      turns: fc.array(turn, { minLength: 1, maxLength: 3 }),
      dispatch: fc.constantFrom("after_gates" as const, "eager" as const),
      streams: fc.boolean(),
      structured: fc.boolean(),
    }),
    async ({ turns, dispatch, streams, structured }, count) => {
      const stop = new AbortController();
      const refused: string[] = [];
      let asked = 0;
      const next = (request: object): Turn | undefined => {
        refused.push(...wouldRefuse(request));
        return turns[asked++];
      };
      const done = { content: '{"done":true}', toolCalls: [], usage: {}, finishReason: "stop" };
      const provider: ModelProvider = {
        name: "fuzzed",
        generate: (request) => (next(request)?.answer.give() ?? Promise.resolve(done)) as never,
        stream: (request) => {
          const now = next(request);
          if (now?.stream) return now.stream.give() as never;
          if (now !== undefined) return streamed(now) as never;
          return (async function* () {
            yield { type: "end", response: done };
          })() as never;
        },
      };
      const body = (input: unknown): unknown => {
        count.reached();
        return input;
      };
      const tools = [
        tool("echo", body, { idempotent: true }),
        tool("write", body, { parallelSafe: false }),
        tool("ask", body, { requiresApproval: true }),
        tool("outside"),
      ];
      const { runner, clock } = setUp(provider, tools, {
        dispatch,
        deadlines: { runSeconds: 100 },
        limits: { maxResultBytes: MAX_RESULT_BYTES },
        approver: () => ({ approve: true }),
      });
      const leaks = leakCheck(runner, { clock, signal: stop.signal });
      const planner = agent("planner", {
        maxTurns: 4,
        ...(structured ? { freeText: undefined, output: { type: "object" } } : {}),
      } as object);
      const running = streams
        ? runner.stream(planner, "Go.", { signal: stop.signal }).run
        : runner.run(planner, "Go.", { signal: stop.signal });
      const run = await settled(clock, running, stop);
      isWhole(run, MAX_RESULT_BYTES);
      expect(refused).toEqual([]);
      await clock.advance(100);
      await leaks.done();
    },
  );
});
