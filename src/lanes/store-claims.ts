/**
 * Asking a store for the places that a call needs beyond this process (`Semantics 11.4`, `11.5`).
 *
 * Owns the asking and what becomes of the answers; that only calls ask which nobody here shuts out is the engine's.
 *
 * C1 A call asks for its shared lanes that are bounded, but for those in which it borrows a caller's place.
 * C2 While its answer is outstanding it has its places here, and nobody else has.
 * C3 A grant goes to the oldest call whose answer is outstanding: answers may overtake each other, calls may not.
 * C4 A call that was refused waits at the head of its queue, and asks again when one of its lanes has freed a place.
 * C5 What is granted to nobody any more goes back.
 * C6 While calls wait for the same lanes, one of them asks at a time: a place that came free is asked for once or twice,
 *    and not by everybody.
 */
import { wantsFromStore } from "./admission.ts";
import type { Bound } from "./bound.ts";
import { handOnAfter, releaseStored, takeBack } from "./give-back.ts";
import { reopen } from "./hand-on.ts";
import { type Lane, storeName } from "./lane.ts";
import type { LaneEngine } from "./lane-engine.ts";
import { LaneStoreUnavailableError } from "./lane-errors.ts";
import type { LaneStore, StoredPlaces, StoreLane } from "./lane-store.ts";
import { callerOf } from "./nesting.ts";
import { rejoinQueue } from "./parking.ts";
import { CallState, type Permit, rareOf } from "./permit.ts";
import { StoreAnswers } from "./store-answers.ts";

/** What came of asking: `pending` when the store takes its time. */
export type Claim = "granted" | "refused" | "pending" | "failed";

export class StoreClaims {
  readonly #engine: LaneEngine;
  readonly #store: LaneStore;
  /** Where each claiming call has its answer outstanding. */
  readonly #claiming: Map<Permit, StoreAnswers> = new Map();
  /** Lanes whose calls the store has refused. */
  readonly #refused: Set<Lane> = new Set();
  #stopListening: (() => void) | null = null;

  constructor(engine: LaneEngine, store: LaneStore) {
    this.#engine = engine;
    this.#store = store;
  }

  /**
   * Asks for a call that nobody here shuts out and that has not taken its places yet; with `pending` it takes them now.
   * A call that waits and whose question fails, fails when this step of the engine is over.
   */
  claim(call: Permit): Claim {
    const storeLane = call.set.storeLane as Lane;
    const wanted = answersOf(storeLane).places.filter((lane) => wantsFromStore(call, lane));
    if (wanted.length === 0) return "granted";
    let answer: ReturnType<LaneStore["tryAcquire"]>;
    try {
      this.#stopListening ??= this.#store.onFreed((lane) => this.#hear(lane));
      answer = this.#engine.askOutside(() => this.#store.tryAcquire(wanted.map(asStoreLane)));
      if (isPromiseLike(answer)) {
        this.#await(answer, call, wanted);
        return "pending";
      }
    } catch (cause) {
      const error = unavailable(cause);
      rareOf(call).error = error;
      if (call.state === CallState.waiting) this.#failLater(storeLane, wanted, call, error);
      return "failed";
    }
    if (answer === undefined) {
      this.#refuse(storeLane, wanted);
      return "refused";
    }
    keep(call, wanted, answer);
    return "granted";
  }

  /** A call whose answer is outstanding gives up. */
  giveUp(call: Permit): void {
    const { claimants } = this.#claiming.get(call) as StoreAnswers;
    claimants.splice(claimants.indexOf(call), 1);
    this.#claiming.delete(call);
  }

  /** Nobody uses these places or waits for them any more. The last to go leaves no listener behind. */
  drop(storeLane: Lane): void {
    this.#refused.delete(storeLane);
    if (this.#engine.lanes.stores.size > 0) return;
    const stop = this.#stopListening;
    this.#stopListening = null;
    if (stop !== null) this.#engine.afterwards.push(stop);
  }

  /** Bounds have changed: what was refused may be asked for again. */
  forgetRefusals(): void {
    for (const lane of this.#refused) answersOf(lane).refused = null;
    this.#refused.clear();
  }

  #await(answer: PromiseLike<StoredPlaces | undefined>, call: Permit, wanted: readonly Lane[]): void {
    const storeLane = call.set.storeLane as Lane;
    const all = answersOf(storeLane);
    // A nested call that borrows asks for less than the others do: its answer is its own.
    const answers = callerOf(call) === null ? all : new StoreAnswers(wanted);
    const others = storeLane.waiting - (call.state === CallState.waiting ? 1 : 0);
    if (answers === all && others > 0) all.asking = true;
    answers.outstanding += 1;
    answers.claimants.push(call);
    this.#claiming.set(call, answers);
    const settle = (places: StoredPlaces | undefined, error: LaneStoreUnavailableError | null): void => {
      answers.outstanding -= 1;
      if (error !== null) this.#fail(answers, call, error);
      else if (places !== undefined) this.#grant(answers, wanted, places);
      if (answers.outstanding === 0) this.#settle(storeLane, answers, wanted);
      this.#engine.runAfterwards();
    };
    // By a promise of our own: a hostile one could call back at once, in the middle of a step.
    Promise.resolve(answer).then(
      (places) => settle(places, null),
      (cause: unknown) => settle(undefined, unavailable(cause)),
    );
  }

  #grant({ claimants }: StoreAnswers, wanted: readonly Lane[], places: StoredPlaces): void {
    const call = claimants.shift();
    if (call === undefined) {
      releaseStored(this.#engine, places, wanted);
      return;
    }
    this.#claiming.delete(call);
    keep(call, wanted, places);
    this.#engine.grant(call);
  }

  /** The call that asked fails, unless another's grant went to it: then the last whose answer is outstanding. */
  #fail({ claimants }: StoreAnswers, asker: Permit, error: LaneStoreUnavailableError): void {
    const call = claimants.includes(asker) ? asker : claimants.at(-1);
    if (call !== undefined) this.#engine.fail(call, error);
  }

  /** Every answer is there: whoever has no grant was refused. */
  #settle(storeLane: Lane, answers: StoreAnswers, wanted: readonly Lane[]): void {
    const { freed, asking } = answers;
    answers.freed = false;
    answers.asking = false;
    const refused = answers.claimants.splice(0);
    if (refused.length > 0) this.#refuse(storeLane, wanted);
    const lenders = refused.map((call) => {
      this.#claiming.delete(call);
      const back = takeBack(this.#engine, call);
      rejoinQueue(this.#engine, call);
      return back;
    });
    refused.forEach((call, place) => {
      handOnAfter(this.#engine, call.set, lenders[place] ?? null);
    });
    for (const call of refused) this.#engine.failIfDeadlocked(call);
    if (refused.length > 0 ? freed : asking) this.#reopen(storeLane);
  }

  #failLater(storeLane: Lane, wanted: readonly Lane[], call: Permit, error: LaneStoreUnavailableError): void {
    this.#refuse(storeLane, wanted);
    this.#engine.afterwards.push(() => {
      this.#engine.fail(call, error);
      this.#reopen(storeLane);
    });
  }

  #refuse(storeLane: Lane, wanted: readonly Lane[]): void {
    answersOf(storeLane).refused = wanted;
    this.#refused.add(storeLane);
  }

  #reopen(storeLane: Lane): void {
    answersOf(storeLane).refused = null;
    this.#refused.delete(storeLane);
    reopen(this.#engine, storeLane);
  }

  #hear(name: string): void {
    this.#engine.afterwards.push(() => this.#onFreed(name));
    this.#engine.runAfterwards();
  }

  #onFreed(name: string): void {
    const isAbout = (answers: StoreAnswers): boolean => answers.places.some((place) => storeName(place) === name);
    // A place that came free between the question and the answer is not in the answer.
    for (const answers of this.#claiming.values()) if (isAbout(answers)) answers.freed = true;
    for (const lane of [...this.#refused]) if (isAbout(answersOf(lane))) this.#reopen(lane);
  }
}

/** The places of a permit in a store, by lane: one that is lent may have to stay when the others go. */
function keep(call: Permit, wanted: readonly Lane[], places: StoredPlaces): void {
  const rare = rareOf(call);
  rare.stored ??= new Map();
  for (const lane of wanted) rare.stored.set(lane, places);
}

function answersOf(storeLane: Lane): StoreAnswers {
  return storeLane.answers as StoreAnswers;
}

function asStoreLane(lane: Lane): StoreLane {
  return { lane: storeName(lane), bound: declaredBound(lane) };
}

function declaredBound({ bound, starts }: Lane): Bound {
  if (starts === null) return bound;
  return bound === Number.POSITIVE_INFINITY ? { starts: starts.rates } : { inFlight: bound, starts: starts.rates };
}

function unavailable(cause: unknown): LaneStoreUnavailableError {
  return new LaneStoreUnavailableError("expected an answer from the store that shares the lanes, got an error", {
    cause,
  });
}

function isPromiseLike(value: unknown): value is PromiseLike<StoredPlaces | undefined> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
