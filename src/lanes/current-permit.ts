import { AsyncLocalStorage } from "node:async_hooks";
import type { Permit } from "./permit.ts";

/**
 * One for the process, made at first use: on some hosts the first one that is entered makes every promise slower, which
 * whoever bounds work without nesting should not pay.
 */
let storage: AsyncLocalStorage<Permit> | null = null;

/**
 * The permit in whose body this code runs, found through async context; `undefined` outside of any.
 *
 * Set by `Lanes.use` and `Permit.enter`. It may have been given back meanwhile: a poller that a body started and that
 * outlives it still runs in its context.
 */
export function currentPermit(): Permit | undefined {
  return storage === null ? undefined : storage.getStore();
}

/** Runs `body` with `permit` as the current one. */
export function runWithPermit<A, T>(permit: Permit, body: (argument: A) => T, argument: A): T {
  storage ??= new AsyncLocalStorage();
  return storage.run(permit, body, argument);
}

/** Runs `body` in nobody's permit: what it asks of lanes is nested in nothing. */
export function outsidePermits<T>(body: () => T): T {
  // Entered with no store rather than left: leaving is still experimental on some hosts.
  return storage === null ? body() : storage.run(undefined as never, body);
}
