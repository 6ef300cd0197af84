/**
 * Checks that a test left nothing behind.
 *
 * Owns watching: what was there when the watch began is not counted against the test.
 *
 * K1 Listening to the process ends with the last watch; a watch listens on no signal.
 * K2 Everything that is found is told together.
 */
import { getEventListeners } from "node:events";
import process from "node:process";
import { checkMembers, checkOptions, checkSignal, readable, refuse } from "../base/option-checks.ts";
import { showValue } from "../base/show-value.ts";
import type { FakeClock } from "./fake-clock.ts";
import { settleHost } from "./host-turns.ts";
import { TestingError } from "./testing-error.ts";

/** What a leak check reads of a lane. */
export interface LaneGauge {
  readonly lane: unknown;
  readonly inFlight: number;
  readonly waiting: number;
}

/** A runner, or a `Lanes`: whatever tells its lanes. */
export type LaneSource = { lanes(): readonly LaneGauge[] } | { snapshot(): readonly LaneGauge[] };

/** What else a leak check looks at. */
export interface LeakCheckOptions {
  /** No timer may be pending on it at the end. It is settled first, without moving time. */
  clock?: Pick<FakeClock, "settle" | "assertIdle">;
  /** Whether timers armed with `background: true` may be pending at the end. Default false. */
  allowBackground?: boolean;
  /** A signal that must have no more abort listeners at the end than now. */
  signal?: AbortSignal;
  /** Several such signals. */
  signals?: readonly AbortSignal[];
  /** Its script must be finished and its requests sound. */
  provider?: { assertFinished(): void };
}

/** A watch that {@link leakCheck} began. */
export interface LeakCheck {
  /** Watches one more signal from now on. */
  watch(signal: AbortSignal): void;
  /**
   * Lets everything run that needs no more time, ends the watch, and throws when something was left behind. Ends it
   * once; asked again, it says the same again.
   *
   * @throws TESTING naming everything that was found.
   */
  done(): Promise<void>;
}

/**
 * Begins to watch for what a test must not leave behind; `await leaks.done()` at its end tells.
 *
 * At the end every lane is empty, no timer of the clock is pending, watched signals have no listener more than before,
 * and meanwhile no promise was rejected unheard and no process warning came (experimental and deprecation warnings
 * aside). An event of another test that runs in the same process at the same time is told here too.
 *
 * @throws CONFIGURATION for an unknown option; TESTING when the first argument tells no lanes.
 * @example
 * const leaks = leakCheck(runner, { clock, signal, provider });
 * await runner.run(agent, "Go.", { signal });
 * await leaks.done();
 */
export function leakCheck(source: LaneSource, options: LeakCheckOptions = {}): LeakCheck {
  return new Watch(
    source,
    readable("leakCheck", () => checkWatched(options)),
  );
}

function checkWatched(options: unknown): LeakCheckOptions {
  const known = ["clock", "allowBackground", "signal", "signals", "provider"];
  const given: LeakCheckOptions = checkOptions("leakCheck", options, known);
  if (given.clock !== undefined) checkMembers("leakCheck.clock", given.clock, ["settle", "assertIdle"]);
  if (given.provider !== undefined) checkMembers("leakCheck.provider", given.provider, ["assertFinished"]);
  const signals: AbortSignal[] = [];
  for (const signal of given.signals ?? []) {
    // A hole among them, too.
    if (signal === undefined) refuse("leakCheck.signals", "AbortSignals", signal);
    checkSignal("leakCheck.signals", signal);
    signals.push(signal);
  }
  checkSignal("leakCheck.signal", given.signal);
  return { ...given, signals };
}

const SILENT_WARNINGS = new Set(["ExperimentalWarning", "DeprecationWarning"]);

const watches = new Set<Watch>();

/** One listener of each kind, however many watches: the process warns about many listeners too. */
const onRejection = (reason: unknown): void => {
  for (const watch of watches) watch.heard.push(`a promise was rejected and nobody listened: ${describe(reason)}`);
};
const onWarning = (warning: Error): void => {
  if (SILENT_WARNINGS.has(warning.name)) return;
  for (const watch of watches) watch.heard.push(`the process warned: ${describe(warning)}`);
};
const onUncaught = (error: unknown, origin: string): void => {
  if (origin !== "unhandledRejection") {
    for (const watch of watches) watch.heard.push(`an exception was caught by nobody: ${describe(error)}`);
  }
};

class Watch implements LeakCheck {
  /** What the process told while the watch was on. */
  readonly heard: string[] = [];
  readonly #gauges: () => readonly LaneGauge[];
  readonly #options: LeakCheckOptions;
  readonly #signals = new Map<AbortSignal, number>();
  #ended: Promise<string[]> | undefined;

  constructor(source: LaneSource, options: LeakCheckOptions) {
    this.#gauges = gaugesOf(source);
    this.#options = options;
    for (const signal of options.signals ?? []) this.watch(signal);
    if (options.signal !== undefined) this.watch(options.signal);
    if (watches.size === 0) {
      process.on("unhandledRejection", onRejection);
      process.on("warning", onWarning);
      process.on("uncaughtExceptionMonitor", onUncaught);
    }
    watches.add(this);
  }

  watch(signal: AbortSignal): void {
    if (!this.#signals.has(signal)) this.#signals.set(signal, listenersOn(signal));
  }

  async done(): Promise<void> {
    this.#ended ??= this.#end();
    const problems = await this.#ended;
    if (problems.length > 0) throw new TestingError("The test left something behind.", problems);
  }

  async #end(): Promise<string[]> {
    const { clock } = this.#options;
    try {
      await (clock === undefined ? settleHost() : clock.settle());
      return [...this.#laneProblems(), ...this.#askProblems(), ...this.#signalProblems(), ...this.heard];
    } finally {
      watches.delete(this);
      if (watches.size === 0) {
        process.off("unhandledRejection", onRejection);
        process.off("warning", onWarning);
        process.off("uncaughtExceptionMonitor", onUncaught);
      }
    }
  }

  #laneProblems(): string[] {
    return this.#gauges()
      .filter(({ inFlight, waiting }) => inFlight !== 0 || waiting !== 0)
      .map(({ lane, inFlight, waiting }) => `lane ${laneName(lane)}: ${inFlight} in flight, ${waiting} waiting`);
  }

  #askProblems(): string[] {
    const { clock, allowBackground = false, provider } = this.#options;
    const asks = [() => clock?.assertIdle({ allowBackground }), () => provider?.assertFinished()];
    return asks.flatMap((ask) => {
      try {
        ask();
        return [];
      } catch (error) {
        if (error instanceof TestingError) return [...error.problems];
        throw error;
      }
    });
  }

  #signalProblems(): string[] {
    return [...this.#signals].flatMap(([signal, before]) => {
      const now = listenersOn(signal);
      return now > before ? [`a watched signal has ${now} abort listeners, ${before} when the watch began`] : [];
    });
  }
}

function gaugesOf(source: LaneSource): () => readonly LaneGauge[] {
  const { lanes, snapshot } = readable("leakCheck", () => {
    const { lanes, snapshot } = (source ?? {}) as { lanes?: unknown; snapshot?: unknown };
    return { lanes, snapshot };
  });
  if (typeof lanes === "function") return () => (source as { lanes(): readonly LaneGauge[] }).lanes();
  if (typeof snapshot === "function") return () => (source as { snapshot(): readonly LaneGauge[] }).snapshot();
  throw new TestingError(`leakCheck: expected a runner or lanes, got ${showValue(source)}`);
}

function listenersOn(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}

function laneName(lane: unknown): string {
  return typeof lane === "string" ? lane : JSON.stringify(lane);
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : showValue(error);
}
