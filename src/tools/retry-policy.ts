import { checkFunction, checkOptions, checkPositiveInteger, refuse } from "../base/option-checks.ts";
import type { RetryPolicy } from "./tool.ts";

const DEFAULT_BACKOFF_SECONDS = 0.1;
const DEFAULT_MAX_BACKOFF_SECONDS = 10;

/** What a tool declares about its attempts; {@link RetryPolicy} says what each field means. */
export interface RetryOptions {
  attempts: number;
  backoffSeconds?: number | undefined;
  maxBackoffSeconds?: number | undefined;
  when?: RetryPolicy["when"] | undefined;
}

/** Checks a `retry` option and completes it. */
export function checkRetry(path: string, value: unknown): RetryPolicy {
  const given = checkOptions(path, value, ["attempts", "backoffSeconds", "maxBackoffSeconds", "when"]);
  const attempts = checkPositiveInteger(`${path}.attempts`, given.attempts);
  const backoffSeconds = given.backoffSeconds ?? DEFAULT_BACKOFF_SECONDS;
  if (typeof backoffSeconds !== "number" || !Number.isFinite(backoffSeconds) || backoffSeconds < 0) {
    refuse(`${path}.backoffSeconds`, "a finite number of seconds, 0 or more", given.backoffSeconds);
  }
  const maxBackoffSeconds = given.maxBackoffSeconds ?? Math.max(DEFAULT_MAX_BACKOFF_SECONDS, backoffSeconds);
  if (typeof maxBackoffSeconds !== "number" || !(maxBackoffSeconds >= backoffSeconds)) {
    refuse(
      `${path}.maxBackoffSeconds`,
      `a number of seconds, at least backoffSeconds (${backoffSeconds})`,
      given.maxBackoffSeconds,
    );
  }
  checkFunction(`${path}.when`, given.when);
  const when = given.when as RetryPolicy["when"];
  return Object.freeze({ attempts, backoffSeconds, maxBackoffSeconds, ...(when === undefined ? {} : { when }) });
}

/** Seconds between attempt number `failed`, counted from 1, and the next: doubled each time, up to the maximum. */
export function backoffAfter(retry: RetryPolicy, failed: number): number {
  return retry.backoffSeconds === 0 ? 0 : Math.min(retry.backoffSeconds * 2 ** (failed - 1), retry.maxBackoffSeconds);
}
