/** Takes a link away; harmless when it has done its work or was taken away before. */
export type Unlink = () => void;

interface Listeners {
  readonly calls: Set<() => void>;
  readonly onAbort: () => void;
}

/** One listener per signal, however many wait on it: hosts remove listeners in linear time and warn about many. */
const linked = new WeakMap<AbortSignal, Listeners>();

/**
 * Calls `onAbort` once when `signal` aborts, at once when it has already. Returns what takes the link away; the
 * last link to go leaves no listener on the signal (`Semantics 2.8`).
 */
export function linkAbort(signal: AbortSignal, onAbort: () => void): Unlink {
  if (signal.aborted) {
    onAbort();
    return () => {};
  }
  const entry = linked.get(signal) ?? listen(signal);
  // A closure of its own, so that one function linked twice is two links.
  const call = (): void => onAbort();
  entry.calls.add(call);
  return () => {
    if (entry.calls.delete(call) && entry.calls.size === 0 && linked.get(signal) === entry) {
      linked.delete(signal);
      signal.removeEventListener("abort", entry.onAbort);
    }
  };
}

function listen(signal: AbortSignal): Listeners {
  const calls = new Set<() => void>();
  const entry: Listeners = {
    calls,
    onAbort: () => {
      linked.delete(signal);
      for (const call of [...calls]) {
        // A call that was unlinked by one before it must not run.
        if (calls.delete(call)) call();
      }
    },
  };
  linked.set(signal, entry);
  signal.addEventListener("abort", entry.onAbort, { once: true });
  return entry;
}
