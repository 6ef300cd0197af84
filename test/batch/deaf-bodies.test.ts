import { FakeClock } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { DeafBodies, type DeafBody } from "../../src/batch/deaf-bodies.ts";

/** A body's places, given back by hand or by being abandoned. */
class Places {
  abandoned = 0;
  #givenBack = false;
  #call: (() => void) | undefined;

  abandon(): void {
    this.abandoned++;
    this.giveBack();
  }

  giveBack(): void {
    this.#givenBack = true;
    this.#call?.();
  }

  onGivenBack(call: () => void): void {
    if (this.#givenBack) call();
    else this.#call = call;
  }
}

function world(): { clock: FakeClock; deaf: DeafBodies; told: string[]; watch(more?: Partial<DeafBody>): Places } {
  const clock = new FakeClock();
  const deaf = new DeafBodies(clock);
  const told: string[] = [];
  const watch = (more: Partial<DeafBody> = {}): Places => {
    const places = new Places();
    const onDue = (): void => void told.push(`due at ${clock.monotonic() / 1000}, abandoned ${places.abandoned}`);
    deaf.watch({ places, seconds: 30, abandon: true, onDue, ...more });
    return places;
  };
  return { clock, deaf, told, watch };
}

describe("Semantics 4.8, 2.8: a body that outlives its verdict keeps its places for a while, and never in silence", () => {
  it("is told and abandoned once its seconds have passed, not before", async () => {
    const { clock, told, watch } = world();
    const places = watch();
    await clock.advance(29.9);
    expect([told, places.abandoned]).toEqual([[], 0]);
    await clock.advance(100);
    expect([told, places.abandoned]).toEqual([["due at 30, abandoned 0"], 1]);
  });

  it("is forgotten when it ends in time, and leaves no timer", async () => {
    const { clock, told, watch } = world();
    const places = watch();
    await clock.advance(10);
    places.giveBack();
    expect(clock.pending).toMatchObject({ foreground: 0, background: 0 });
    await clock.advance(100);
    expect([told, places.abandoned]).toEqual([[], 0]);
  });

  it("one whose places have gone back already is not watched", () => {
    const { clock, watch } = world();
    const places = new Places();
    places.giveBack();
    watch({ places });
    expect(clock.pending).toMatchObject({ foreground: 0, background: 0 });
  });

  it("one that may not be abandoned is told once and keeps its places", async () => {
    const { clock, told, watch } = world();
    const places = watch({ abandon: false });
    await clock.advance(1000);
    expect([told.length, places.abandoned]).toEqual([1, 0]);
  });

  it("without end means never", async () => {
    const { clock, watch } = world();
    const places = watch({ seconds: Number.POSITIVE_INFINITY });
    expect(clock.pending).toMatchObject({ foreground: 0, background: 0 });
    await clock.advance(1e6);
    expect(places.abandoned).toBe(0);
  });

  it("keeps the process alive only while a run is active, and on its own clock all along", async () => {
    const { clock, deaf, watch } = world();
    deaf.runStarted();
    const places = watch();
    expect(clock.pending).toMatchObject({ foreground: 1, background: 0 });
    await clock.advance(10);
    deaf.runStarted();
    deaf.runSettled();
    expect(clock.pending).toMatchObject({ foreground: 1, background: 0 });
    deaf.runSettled();
    expect(clock.pending).toMatchObject({ foreground: 0, background: 1 });
    await clock.advance(10);
    deaf.runStarted();
    expect(clock.pending).toMatchObject({ foreground: 1, background: 0 });
    await clock.advance(9.9);
    expect(places.abandoned).toBe(0);
    await clock.advance(0.1);
    expect(places.abandoned).toBe(1);
  });
});
