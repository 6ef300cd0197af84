import { ConfigurationError } from "../base/errors.ts";
import { checkSignal, refuse } from "../base/option-checks.ts";
import type { LaneEngine } from "./lane-engine.ts";
import { Permit } from "./permit.ts";
import { Turn } from "./turn.ts";

/** Which lanes a call stands in; each may be left out (`Semantics 4.3`). */
export interface LaneRequest {
  /** On whose behalf. A nested call has its caller's when this is left out. */
  readonly tenant?: string;
  /** The batch that it belongs to, made by the same `Lanes`. */
  readonly turn?: Turn;
  /** The tool that it calls. */
  readonly tool?: string;
  /** What its tool shares with others. */
  readonly resource?: string;
  /** Canonical JSON of its arguments: no other call of the tool with the same runs beside it (`Semantics 5.3`). */
  readonly arguments?: string;
  /** No other call with the same key runs beside it, but for its own callers (`Semantics 5.2`). */
  readonly exclusive?: string;
}

/** How to wait for a permit. */
export interface AcquireOptions {
  /** Ends the wait when it aborts. */
  readonly signal?: AbortSignal;
  /** The caller, when async context does not tell: a permit of the same `Lanes`. */
  readonly within?: Permit;
  /** Carried on the permit as it is; its text fields `runId`, `path`, `callId`, `tool` and `tenant` show in snapshots. */
  readonly holder?: unknown;
}

/**
 * Checks what came from outside, once and cheaply.
 *
 * @throws ConfigurationError for an unknown key, a wrong type, or a turn of other lanes.
 */
export function checkRequest(engine: LaneEngine, request: LaneRequest): void {
  if (typeof request !== "object" || request === null) refuse("request", "an object", request);
  for (const key in request) {
    switch (key) {
      case "tenant":
      case "tool":
      case "resource":
      case "arguments":
      case "exclusive":
        if (request[key] !== undefined && typeof request[key] !== "string")
          refuse(`request.${key}`, "a text", request[key]);
        break;
      case "turn":
        if (request.turn !== undefined) checkTurn(engine, request.turn);
        break;
      default:
        throw new ConfigurationError(
          `request.${key}: unknown option; expected one of tenant, turn, tool, resource, arguments, exclusive`,
        );
    }
  }
}

/** @throws ConfigurationError for an unknown key or a wrong type. */
export function checkAcquireOptions(engine: LaneEngine, options: AcquireOptions | undefined, waits: boolean): void {
  if (options === undefined) return;
  if (typeof options !== "object" || options === null) refuse("options", "an object", options);
  for (const key in options) {
    switch (key) {
      case "holder":
        break;
      case "within":
        if (options.within !== undefined) checkWithin(engine, options.within);
        break;
      case "signal":
        if (waits) {
          checkSignal("options.signal", options.signal);
          break;
        }
        throw new ConfigurationError("options.signal: unknown option; tryAcquire does not wait");
      default:
        throw new ConfigurationError(
          `options.${key}: unknown option; expected one of ${waits ? "signal, " : ""}within, holder`,
        );
    }
  }
}

function checkTurn(engine: LaneEngine, turn: unknown): void {
  if (!(turn instanceof Turn)) refuse("request.turn", "a turn made by lanes.turn()", turn);
  if (turn.engine !== engine)
    throw new ConfigurationError("request.turn: expected a turn of the same lanes, got one of others");
}

function checkWithin(engine: LaneEngine, within: unknown): void {
  if (!(within instanceof Permit)) refuse("options.within", "a permit", within);
  if (within.set.engine !== engine) {
    throw new ConfigurationError("options.within: expected a permit of the same lanes, got one of others");
  }
}
