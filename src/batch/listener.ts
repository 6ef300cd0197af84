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
      if (said instanceof Promise) said.catch(report);
    } catch (error) {
      report(error);
    }
  };
}
