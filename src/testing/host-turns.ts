/**
 * Lets the host's event loop turn until nothing is left to run.
 *
 * Owns the question "does everything wait?"; the clock decides what to do about it.
 *
 * H1 After a turn every microtask has run, also those that microtasks queued.
 * H2 Code that goes on by `setImmediate`, however often up to {@link MOST_TURNS} times in a row, is waited for.
 * H3 Two settlings at once do not wait for each other.
 */

// Taken when the module loads: a test that fakes the globals must not stop the clock that it drives.
const hostImmediate = globalThis.setImmediate;
const hostProcess = globalThis.process as { getActiveResourcesInfo?: () => string[] } | undefined;

/** Turns that are always given: a finished read of the host arrives in the poll phase between two of them. */
const FEWEST_TURNS = 3;
/** Turns after which code that re-arms an immediate for ever is no longer waited for. */
const MOST_TURNS = 200;

/** Our own pending immediates, which are no work of the code under test (H3). */
let ownPending = 0;

/** One turn of the event loop. */
export function hostTurn(): Promise<void> {
  ownPending += 1;
  return new Promise((resolve) => {
    hostImmediate(() => {
      ownPending -= 1;
      resolve();
    });
  });
}

/** Turns until nobody but us has an immediate pending. Sockets, threads and slow files are out of its sight. */
export async function settleHost(): Promise<void> {
  for (let turn = 1; turn <= MOST_TURNS; turn += 1) {
    await hostTurn();
    if (turn >= FEWEST_TURNS && foreignImmediates() === 0) return;
  }
}

function foreignImmediates(): number {
  let immediates = -ownPending;
  for (const resource of hostProcess?.getActiveResourcesInfo?.() ?? []) {
    if (resource === "Immediate") immediates += 1;
  }
  return Math.max(0, immediates);
}
