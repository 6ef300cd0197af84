import { isInstance } from "../base/is-instance.ts";
import { outsidePermits } from "../lanes/current-permit.ts";
import type { RunEvent } from "../protocol/event.ts";
import type { EventSink } from "./event-log.ts";

/** A listener that never throws: what it throws goes to `report`, and loses nothing (`Semantics 2.12`). */
export function listenerOf<T>(
  listener: ((value: T) => void) | undefined,
  report: (error: unknown) => void,
): (value: T) => void {
  return (value) => {
    if (listener === undefined) return;
    try {
      const said: unknown = listener(value);
      // An async listener rejects later, and unheard.
      if (isInstance(said, Promise)) said.catch(report);
    } catch (error) {
      report(error);
    }
  };
}

/**
 * The same for events, of which there are none for nobody. What a listener starts is its own affair, also when a body's
 * progress is what it was told of.
 */
export function eventListeners(
  onEvent: ((event: RunEvent) => void) | undefined,
  report: (error: unknown) => void,
): EventSink[] {
  const tell = listenerOf(onEvent, report);
  return onEvent === undefined ? [] : [(event) => outsidePermits(() => tell(event))];
}
