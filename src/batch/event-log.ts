import { AsyncContext } from "../base/async-context.ts";
import type { Clock } from "../base/clock.ts";
import { freezeJson } from "../base/plain-json.ts";
import type { RunEvent, ToolEvent } from "../protocol/event.ts";

/** `Omit` that keeps a union a union. */
export type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** An event before the log has placed it. */
export type UnplacedEvent = Without<RunEvent, "at" | "runId" | "path" | "seq">;

/** An event of a call before the log has placed it. */
export type UnplacedToolEvent = Without<ToolEvent, "at" | "runId" | "path" | "seq">;

/** Takes each event as it happens; must not throw. */
export type EventSink = (event: RunEvent) => void;

/** The order in which events of one outermost run happen, across everything nested in it. */
export interface LiveOrder {
  next: number;
  /** What is to be told once what is being told has been. */
  readonly waiting: (() => void)[];
  isTelling: boolean;
}

/** A live order in which nothing has happened yet. */
export function liveOrder(): LiveOrder {
  return { next: 0, waiting: [], isTelling: false };
}

type Entry = RunEvent | EventLog | Section;

/**
 * The events of one run, in two orders (`Semantics 2.3`).
 *
 * E1. Live: each event goes to the sink at once, numbered as it happened; what happens because somebody was told goes when
 *     everybody has been told. It is told in the async context in which the log was made, wherever it happened.
 * E2. Canonical: `settle()` gives the run's events with each call's together, calls in call order, and a nested run's
 *     inside its call. That order follows from what each call did, never from who finished first.
 * E3. After `settle()` events still go to the sink, and change nothing in what `settle()` gave.
 * E4. Events are frozen: whoever is given one cannot change what others see.
 */
export class EventLog {
  readonly runId: string;
  readonly path: string;
  readonly #clock: Clock;
  readonly #live: LiveOrder;
  readonly #sinks: readonly EventSink[];
  readonly #root: Section = new Section();
  readonly #context = new AsyncContext();
  #settled = false;

  constructor(place: { runId: string; path: string }, clock: Clock, live: LiveOrder, sinks: readonly EventSink[]) {
    this.runId = place.runId;
    this.path = place.path;
    this.#clock = clock;
    this.#live = live;
    this.#sinks = sinks;
  }

  /**
   * Records an event in a section, by default the run's own; `liveOnly` ones are told and not kept. The event is the log's
   * from here on: nobody else may keep it.
   */
  emit(event: UnplacedEvent, section: Section = this.#root, liveOnly = false): void {
    // Placed in place: a run has many events, and a copy of each is what they would cost most.
    const placed = event as { -readonly [Key in keyof RunEvent]: RunEvent[Key] };
    placed.at = this.#clock.now();
    placed.runId = this.runId;
    placed.path = this.path;
    placed.seq = this.#live.next++;
    if (!this.#settled && !liveOnly) section.entries.push(placed as RunEvent);
    if (this.#sinks.length > 0) this.#tell(freezeJson({ ...placed }) as RunEvent);
  }

  #tell(event: RunEvent): void {
    const { waiting } = this.#live;
    waiting.push(() =>
      this.#context.run(() => {
        for (const sink of this.#sinks) sink(event);
      }),
    );
    if (this.#live.isTelling) return;
    this.#live.isTelling = true;
    for (let tell = waiting.shift(); tell !== undefined; tell = waiting.shift()) tell();
    this.#live.isTelling = false;
  }

  /** A place in the canonical order that is filled later: one for each call of a batch, opened in call order. */
  openSection(within: Section = this.#root): Section {
    const section = new Section();
    within.entries.push(section);
    return section;
  }

  /** The log of a run nested in a call, placed where it starts; `also` hear of that run beside this log's sink. */
  nest(place: { path: string }, section: Section, also: readonly EventSink[] = []): EventLog {
    const sinks = also.length === 0 ? this.#sinks : [...this.#sinks, ...also];
    const log = new EventLog({ runId: this.runId, path: place.path }, this.#clock, this.#live, sinks);
    section.entries.push(log);
    return log;
  }

  /** The canonical events so far, frozen; nothing that happens later is in them. */
  settle(): readonly RunEvent[] {
    this.#settled = true;
    const events: RunEvent[] = [];
    this.#collect(this.#root, events);
    return Object.freeze(events);
  }

  #collect(section: Section, into: RunEvent[]): void {
    for (const entry of section.entries) {
      if (entry instanceof EventLog) entry.#collect(entry.#root, into);
      else if (entry instanceof Section) this.#collect(entry, into);
      else {
        // A nested run's stand in its own events, too, and have their place there.
        const placed = Object.isFrozen(entry) ? { ...entry } : entry;
        (placed as { seq: number }).seq = into.length;
        into.push(freezeJson(placed));
      }
    }
  }
}

/** A stretch of the canonical order. */
export class Section {
  readonly entries: Entry[] = [];
}
