import {
  InProcessLaneStore,
  type LaneStore,
  LaneStoreUnavailableError,
  type StoredPlaces,
  type StoreLane,
} from "lanekeeper/lanes";
import { Deferred, FakeClock } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { type Asked, LanesAtWork, states } from "./lanes-at-work.ts";

/** A store whose answers the test gives. */
class AnsweredByHand implements LaneStore {
  readonly questions: { lanes: string[]; answer: Deferred<StoredPlaces | undefined> }[] = [];
  readonly released: string[] = [];
  #listeners: ((lane: string) => void)[] = [];

  tryAcquire(lanes: readonly StoreLane[]): Promise<StoredPlaces | undefined> {
    const answer = new Deferred<StoredPlaces | undefined>();
    this.questions.push({ lanes: lanes.map(({ lane }) => lane), answer });
    return answer.promise;
  }

  onFreed(listener: (lane: string) => void): () => void {
    this.#listeners.push(listener);
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  }

  get listeners(): number {
    return this.#listeners.length;
  }

  free(lane: string): void {
    for (const listener of this.#listeners) listener(lane);
  }

  grant(question: number, lost?: AbortSignal): void {
    const release = (lanes: readonly string[]): void => {
      this.released.push(...lanes);
    };
    this.questions[question]?.answer.resolve(lost === undefined ? { release } : { release, lost });
  }

  refuse(question: number): void {
    this.questions[question]?.answer.resolve(undefined);
  }
}

function pair(config: ConstructorParameters<typeof LanesAtWork>[0]): [LanesAtWork, LanesAtWork] {
  const clock = new FakeClock();
  const store = new InProcessLaneStore({ clock });
  return [new LanesAtWork(config, { clock, store }), new LanesAtWork(config, { clock, store })];
}

function byHand(config: ConstructorParameters<typeof LanesAtWork>[0]): [LanesAtWork, AnsweredByHand] {
  const store = new AnsweredByHand();
  return [new LanesAtWork(config, { store }), store];
}

describe("Semantics 11.4: Lanes that are given the same store share their bounds", () => {
  it.each([
    ["tool", { tool: "search" }],
    ["tenant", { tenant: "acme" }],
    ["resource", { resource: "maps" }],
    ["identical arguments", { tool: "pay", arguments: "{}" }],
  ])("a %s's bound holds for all of them together, and a place that comes free wakes the other", async (_, request) => {
    const [one, other] = pair({ perTenant: 1, perTool: { search: 1 }, perResource: { maps: 1 } });
    const first = await one.ask(request);
    const second = await other.ask(request);
    expect(states([first, second])).toEqual(["held", "waits"]);
    await one.release(first);
    expect(states([second])).toEqual(["held"]);
    await other.release(second);
    expect(states([await one.ask(request)])).toEqual(["held"]);
  });

  it("turns and exclusive keys are each one's own", async () => {
    const [one, other] = pair({ maxConcurrentTools: 1 });
    for (const work of [one, other]) {
      expect(states([await work.ask({ turn: work.lanes.turn({}, { name: "same" }), exclusive: "same" })])).toEqual([
        "held",
      ]);
    }
  });

  it("takes all or nothing across them", async () => {
    const [one, other] = pair({ perTenant: 1, perTool: { search: 1 } });
    const tool = await one.ask({ tool: "search" });
    const both = await other.ask({ tenant: "acme", tool: "search" });
    expect(states([both, await one.ask({ tenant: "acme" })])).toEqual(["waits", "held"]);
    await one.release(tool);
    expect(states([both])).toEqual(["waits"]);
  });

  it("who was refused waits at the head of its queue", async () => {
    const [one, other] = pair({ perTool: { search: 1 } });
    const holder = await one.ask({ tool: "search" });
    const waiting = await other.askTimes(3, { tool: "search" });
    await one.release(holder);
    expect(states(waiting)).toEqual(["held", "waits", "waits"]);
    await other.release(waiting[0] as Asked);
    expect(states(waiting)).toEqual(["given back", "held", "waits"]);
  });

  it("a refused call keeps nobody from lanes that it does not hold", async () => {
    const [one, other] = pair({ perTenant: 1, perTool: { search: 1 } });
    await one.ask({ tool: "search" });
    const refused = await other.ask({ tenant: "acme", tool: "search" });
    expect(states([refused, await other.ask({ tenant: "acme", tool: "other" })])).toEqual(["waits", "held"]);
  });

  it("three deep with every bound at 1, a nested run completes: a caller's place is not asked for", async () => {
    const [one, other] = pair({ perTenant: 1, perTool: { search: 1 } });
    const nest = (depth: number): Promise<number> =>
      one.lanes.use({ tenant: "acme", tool: "search" }, async () => (depth === 0 ? 0 : 1 + (await nest(depth - 1))));
    expect(await one.clock.promptly(nest(3))).toBe(3);
    expect(states([await other.ask({ tenant: "acme", tool: "search" })])).toEqual(["held"]);
  });

  it("a nested call that needs less than what was refused may still ask", async () => {
    const [one, other] = pair({ perTenant: 1, perTool: { search: 1 } });
    const caller = await one.ask({ tenant: "acme" });
    // Refused for the tenant's sake, not for the tool's.
    const refused = await other.ask({ tenant: "acme", tool: "search" });
    const alsoRefused = await one.ask({ tenant: "acme", tool: "search" });
    const nested = await one.ask({ tool: "search" }, { within: caller.held });
    expect(states([refused, alsoRefused, nested])).toEqual(["waits", "waits", "held"]);
  });

  it("a lent place stays taken in the store when its lender goes first", async () => {
    const [one, other] = pair({ perTenant: 1, perTool: { agent: 1 } });
    const caller = await one.ask({ tenant: "acme", tool: "agent" });
    const nested = await one.ask({ tool: "x" }, { within: caller.held });
    await one.release(caller);
    const tenant = await other.ask({ tenant: "acme" });
    const tool = await other.ask({ tool: "agent" });
    expect(states([tenant, tool])).toEqual(["waits", "held"]);
    await one.release(nested);
    expect(states([tenant])).toEqual(["held"]);
  });

  it("a bound on starts is shared, too", async () => {
    const [one, other] = pair({ perTool: { search: { starts: { count: 1, perSeconds: 10 } } } });
    await one.release(await one.ask({ tool: "search" }));
    const late = await other.ask({ tool: "search" });
    expect(states([late])).toEqual(["waits"]);
    await one.clock.advance(10);
    expect(states([late])).toEqual(["held"]);
  });

  it("a bound that is raised while calls wait for the store is asked for again", async () => {
    const [one, other] = pair({ perTool: { search: 1 } });
    await one.ask({ tool: "search" });
    const waiting = await other.ask({ tool: "search" });
    other.lanes.configure({ perTool: { search: 2 } });
    await other.clock.settle();
    expect(states([waiting])).toEqual(["held"]);
  });

  it("tryAcquire asks the store, and has no places in it when it gives none", async () => {
    const [one, other] = pair({ perTool: { search: 1 } });
    const permit = one.lanes.tryAcquire({ tool: "search" });
    expect(other.lanes.tryAcquire({ tool: "search" })).toBeUndefined();
    permit?.release();
    expect(other.lanes.tryAcquire({ tool: "search" })).toBeDefined();
  });
});

describe("Semantics 11.4: a store that takes its time", () => {
  it("is asked only for a call that nobody here keeps waiting, and only for lanes that are bounded", async () => {
    const [work, store] = byHand({ perTool: { search: 1 } });
    const calls = await work.askTimes(2, { tenant: "acme", tool: "search" });
    expect(store.questions.map(({ lanes }) => lanes)).toEqual([["tool:search"]]);
    expect(states(calls)).toEqual(["waits", "waits"]);
    store.grant(0);
    await work.clock.settle();
    expect(states(calls)).toEqual(["held", "waits"]);
    expect(states([await work.ask({ tenant: "acme", tool: "other" })])).toEqual(["held"]);
    expect(store.questions).toHaveLength(1);
  });

  it("a refusal gives the places here back at once, and the call asks again when a place came free", async () => {
    const [work, store] = byHand({ perTenant: 1, perTool: { search: 1 } });
    const refused = await work.ask({ tenant: "acme", tool: "search" });
    const behind = await work.ask({ tenant: "acme" });
    expect(work.count("tenant:acme")).toBe("1/1");
    store.refuse(0);
    await work.clock.settle();
    expect(store.questions[1]?.lanes).toEqual(["tenant:acme"]);
    store.refuse(1);
    await work.clock.settle();
    store.free("tool:other");
    await work.clock.settle();
    expect(store.questions).toHaveLength(2);
    store.free("tool:search");
    await work.clock.settle();
    expect(store.questions).toHaveLength(3);
    store.grant(2);
    await work.clock.settle();
    expect(states([refused, behind])).toEqual(["held", "waits"]);
  });

  it("a place that came free between the question and the refusal is asked for again", async () => {
    const [work, store] = byHand({ perTool: { search: 1 } });
    const call = await work.ask({ tool: "search" });
    store.free("tool:search");
    store.refuse(0);
    await work.clock.settle();
    expect(store.questions).toHaveLength(2);
    store.grant(1);
    await work.clock.settle();
    expect(states([call])).toEqual(["held"]);
  });

  it("answers that overtake each other do not let calls overtake each other", async () => {
    const [work, store] = byHand({ perTool: { search: 2 } });
    const calls = await work.askTimes(2, { tool: "search" });
    store.grant(1);
    await work.clock.settle();
    expect(states(calls)).toEqual(["held", "waits"]);
    store.refuse(0);
    await work.clock.settle();
    expect(states(calls)).toEqual(["held", "waits"]);
    store.free("tool:search");
    await work.clock.settle();
    store.grant(2);
    await work.clock.settle();
    expect(states(calls)).toEqual(["held", "held"]);
  });

  it("while calls wait for the same lanes one of them asks at a time", async () => {
    const [work, store] = byHand({ perTool: { search: 4 } });
    const calls = await work.askTimes(4, { tool: "search" });
    expect(store.questions).toHaveLength(4);
    for (let question = 0; question < 4; question += 1) store.refuse(question);
    await work.clock.settle();
    store.free("tool:search");
    await work.clock.settle();
    expect(store.questions).toHaveLength(5);
    store.grant(4);
    await work.clock.settle();
    expect(store.questions).toHaveLength(6);
    expect(states(calls)).toEqual(["held", "waits", "waits", "waits"]);
  });

  it("a cancel while the answer is outstanding gives back what arrives late", async () => {
    const [work, store] = byHand({ perTool: { search: 1 } });
    const stop = new AbortController();
    const call = await work.ask({ tool: "search" }, { signal: stop.signal });
    stop.abort();
    await work.clock.settle();
    expect(states([call])).toEqual(["CancelledError"]);
    expect(work.count("tool:search")).toBe("0/0");
    store.grant(0);
    await work.clock.settle();
    expect(store.released).toEqual(["tool:search"]);
    expect(store.listeners).toBe(0);
  });

  it("maxWaitSeconds counts while the answer is outstanding", async () => {
    const [work, store] = byHand({ perTool: { search: 1 }, maxWaitSeconds: 2 });
    const call = await work.ask({ tool: "search" });
    await work.clock.advance(2);
    expect(states([call])).toEqual(["LaneWaitExceededError"]);
    store.grant(0);
    await work.clock.settle();
    expect(store.released).toEqual(["tool:search"]);
    work.clock.assertIdle();
  });

  it("tryAcquire never waits for it, and gives back what arrives late", async () => {
    const [work, store] = byHand({ perTool: { search: 1 } });
    expect(work.lanes.tryAcquire({ tool: "search" })).toBeUndefined();
    store.grant(0);
    await work.clock.settle();
    expect(store.released).toEqual(["tool:search"]);
  });

  it("holders are told when it can no longer vouch for their places, nested ones too", async () => {
    const [work, store] = byHand({ perTool: { search: 1 } });
    const call = await work.ask({ tool: "search" });
    const session = new AbortController();
    store.grant(0, session.signal);
    await work.clock.settle();
    const nested = await work.ask({ tool: "search" }, { within: call.held });
    expect(call.held.lost?.aborted).toBe(false);
    session.abort();
    expect([call.held.lost?.aborted, nested.held.lost?.aborted]).toEqual([true, true]);
    expect((await work.ask({})).held.lost).toBeUndefined();
  });

  it("listens only while somebody stands in a shared lane", async () => {
    const [work, store] = byHand({ perTool: { search: 1 } });
    expect(store.listeners).toBe(0);
    const call = await work.ask({ tool: "search" });
    expect(store.listeners).toBe(1);
    store.grant(0);
    await work.clock.settle();
    await work.release(call);
    expect(store.listeners).toBe(0);
    expect(store.released).toEqual(["tool:search"]);
  });
});

describe("Semantics 11.5: when the store is unreachable, calls fail and nothing runs unbounded", () => {
  const failing = (tryAcquire: LaneStore["tryAcquire"]): LanesAtWork =>
    new LanesAtWork({ perTool: { search: 2 } }, { store: { tryAcquire, onFreed: () => () => {} } });

  it.each<[string, LaneStore["tryAcquire"]]>([
    [
      "throws",
      () => {
        throw new Error("no connection");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no connection"))],
  ])("a store that %s fails the call that asked, whose places go back", async (_, tryAcquire) => {
    const work = failing(tryAcquire);
    const calls = await work.askTimes(3, { tool: "search" });
    expect(states(calls)).toEqual(Array(3).fill("LaneStoreUnavailableError"));
    expect(calls[0]?.error).toBeInstanceOf(LaneStoreUnavailableError);
    expect(calls[0]?.error).toMatchObject({ code: "LANE_STORE_UNAVAILABLE", cause: new Error("no connection") });
    expect(work.count("tool:search")).toBe("0/0");
  });

  it("a store that fails while calls wait fails each as its turn comes", async () => {
    let fails = false;
    const inner = new InProcessLaneStore();
    const store: LaneStore = {
      tryAcquire: (lanes) => {
        if (fails) throw new Error("gone");
        return inner.tryAcquire(lanes);
      },
      onFreed: (listener) => inner.onFreed(listener),
    };
    const work = new LanesAtWork({ perTool: { search: 1 } }, { store });
    const calls = await work.askTimes(3, { tool: "search" });
    fails = true;
    await work.release(calls[0] as Asked);
    expect(states(calls)).toEqual(["given back", "LaneStoreUnavailableError", "LaneStoreUnavailableError"]);
    expect(work.count("tool:search")).toBe("0/0");
  });

  it("tryAcquire throws", () => {
    const work = failing(() => {
      throw new Error("no connection");
    });
    expect(() => work.lanes.tryAcquire({ tool: "search" })).toThrow(LaneStoreUnavailableError);
  });

  it("places that cannot be given back are told to onError, and nobody is held up", async () => {
    const errors: unknown[] = [];
    const store: LaneStore = {
      tryAcquire: () => ({ release: () => Promise.reject(new Error("gone")) }),
      onFreed: () => () => {},
    };
    const work = new LanesAtWork({ perTool: { search: 1 } }, { store, onError: (error) => errors.push(error) });
    const calls = await work.askTimes(2, { tool: "search" });
    await work.release(calls[0] as Asked);
    expect(states(calls)).toEqual(["given back", "held"]);
    expect(errors).toEqual([new Error("gone")]);
  });

  it("a store must not use the lanes that ask it", async () => {
    const work: LanesAtWork = new LanesAtWork(
      { perTool: { search: 1 } },
      { store: { tryAcquire: () => void work.lanes.configure({}) as undefined, onFreed: () => () => {} } },
    );
    const call = await work.ask({ tool: "search" });
    expect(states([call])).toEqual(["LaneStoreUnavailableError"]);
  });
});
