/**
 * One call's way through its gates (`Semantics 3.2`): validate → guardrails → approval → `beforeTool` hooks.
 *
 * G1. Gates see copies of the input form, and what they make of it is parsed and validated again.
 * G2. What throws, and what answers nonsense, counts against this call and is never taken for "allowed".
 * G3. Every wait races the run's stop: a gate that never settles ends with the run, and a late answer does nothing.
 *
 * That calls come here one at a time, in call order, is the batch's business.
 */
import { copyJson } from "../base/copy-json.ts";
import { describeThrown } from "../base/describe-thrown.ts";
import { hush } from "../base/hush.ts";
import { isInstance } from "../base/is-instance.ts";
import { showValue } from "../base/show-value.ts";
import type { Approver, Decision, GateCall, GateContext, Guardrail, Hook, PendingCall } from "../protocol/gate.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import { parseArguments } from "../tools/parse-arguments.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolFailedError, ToolInputError } from "../tools/tool-errors.ts";
import type { Activity } from "./activity.ts";
import { GuardrailViolationError } from "./batch-errors.ts";
import { type Stop, Stopped } from "./stop.ts";
import { denied, failed, neverDispatched } from "./verdict.ts";

/** The gates of a run and on whose behalf they are asked. */
export interface Gates {
  readonly approver: Approver | undefined;
  readonly guardrails: readonly Guardrail[];
  readonly hooks: readonly Hook[];
  readonly context: GateContext;
  /** What ends the waits. */
  readonly stop: Stop;
  /** Ends the run. */
  readonly endRun: (error: GuardrailViolationError) => void;
  /** The run's: while a person is asked it waits for people. */
  readonly activity: Activity;
}

/** A call that stands before its gates. */
export interface GatedCall {
  readonly id: string;
  readonly name: string;
  /** 0-based, in a batch of `of` calls. */
  readonly position: number;
  readonly of: number;
  readonly tool: Tool;
  /** The input form. */
  readonly input: Record<string, unknown>;
  /** Keys a decision about it. */
  readonly pendingId: string;
}

/** What the gates left of a call's arguments. */
interface Left {
  readonly input: Record<string, unknown>;
  /** As somebody who approved the call wrote them, if anybody did. Hooks' own are not in here: they may be secret. */
  readonly approved?: Record<string, unknown>;
}

/** What the gates made of a call. */
export type GateOutcome =
  | (Left & { readonly kind: "passed"; readonly parallelSafe: boolean })
  | (Left & { readonly kind: "answered"; readonly value: unknown })
  | (Left & { readonly kind: "suspended"; readonly parallelSafe: boolean; readonly pending: PendingCall })
  | { readonly kind: "refused" | "failed"; readonly result: ToolResult };

/** What somebody outside said to a call that waited. */
export interface Answered {
  readonly decision: Decision;
  readonly reason: PendingCall["reason"];
}

/** Tells what a gate said: `gate_passed` or `gate_refused`, and one line about it. */
export type GateNote = (kind: "gate_passed" | "gate_refused", detail: string) => void;

/** Ends a call's way through the gates before it has passed. */
class Turned {
  readonly outcome: GateOutcome;

  constructor(outcome: GateOutcome) {
    this.outcome = outcome;
  }
}

/**
 * Takes one call through its gates.
 *
 * With `answered` it goes on behind the gate at which it waited: what was asked before is not asked again
 * (`Semantics 3.6`). Rejects only with {@link Stopped}, when the run stopped meanwhile.
 */
export async function passGates(
  call: GatedCall,
  gates: Gates,
  note: GateNote,
  answered?: Answered,
): Promise<GateOutcome> {
  const way = new Way(call, gates, note);
  try {
    return await (answered === undefined ? way.go() : way.goOn(answered));
  } catch (ended) {
    if (isInstance(ended, Turned)) return ended.outcome;
    if (isInstance(ended, Stopped)) throw ended;
    // Whatever an answer throws when it is read (G2).
    note("gate_refused", "a gate's answer cannot be read");
    const error = gateFailed(call.name, "a gate", ended);
    return { kind: "failed", result: neverDispatched(call, error.message, error) };
  }
}

class Way {
  readonly #call: GatedCall;
  readonly #gates: Gates;
  readonly #note: GateNote;
  #input: Record<string, unknown>;
  #approved: Record<string, unknown> | undefined;
  #args: unknown;

  constructor(call: GatedCall, gates: Gates, note: GateNote) {
    this.#call = call;
    this.#gates = gates;
    this.#note = note;
    this.#input = call.input;
  }

  async go(): Promise<GateOutcome> {
    await this.#validate();
    for (const guardrail of this.#gates.guardrails) await this.#guard(guardrail);
    return (await this.#approval()) ?? this.#hooks();
  }

  async goOn({ decision, reason }: Answered): Promise<GateOutcome> {
    await this.#validate();
    return (await this.#decide(decision, reason)) ?? this.#hooks();
  }

  async #hooks(): Promise<GateOutcome> {
    for (const hook of this.#gates.hooks) await this.#hook(hook);
    if (this.#call.tool.run === undefined) return this.#suspend("external");
    return { kind: "passed", ...this.#left(), parallelSafe: this.#parallelSafe() };
  }

  async #validate(): Promise<void> {
    const { tool } = this.#call;
    const checked = tool.validate(copyJson(this.#input));
    const check = checked instanceof Promise ? await this.#gates.stop.race(checked) : checked;
    if (!check.ok) this.#fail(failed(this.#call, new ToolInputError(tool.name, check.problems)));
    this.#args = check.args;
  }

  /** Takes arguments that a gate wrote, and reads them again from the start (G1). */
  async #edit(who: string, args: unknown): Promise<void> {
    // A gate that names `args` and gives none has made a mistake; {} would run what nobody asked for.
    if (args === undefined || args === null) this.#nonsense(who, "arguments: an object, or its JSON text", args);
    const parsed = parseArguments(args);
    if (!parsed.ok) {
      this.#fail(failed(this.#call, new ToolInputError(this.#call.name, [{ path: "", message: parsed.problem }])));
    }
    this.#input = parsed.input;
    await this.#validate();
  }

  async #guard(guardrail: Guardrail): Promise<void> {
    if (guardrail.before === undefined) return;
    const who = `guardrail ${JSON.stringify(guardrail.name)}`;
    const said = await this.#ask(who, (context) => guardrail.before?.(this.#seen(), context));
    if (said === undefined || said === null) return this.#note("gate_passed", who);
    const { refuse, endRun } = said as { refuse?: unknown; endRun?: unknown };
    if (typeof endRun === "string") {
      this.#note("gate_refused", `${who} ended the run`);
      const error = new GuardrailViolationError(guardrail.name, endRun);
      this.#gates.endRun(error);
      throw new Stopped();
    }
    if (typeof refuse === "string") this.#refuse(who, refuse);
    this.#nonsense(who, "{ refuse } or { endRun } with a text, or nothing", said);
  }

  async #hook(hook: Hook): Promise<void> {
    if (hook.beforeTool === undefined) return;
    const who = `hook ${JSON.stringify(hook.name)}`;
    const said = await this.#ask(who, (context) => hook.beforeTool?.(this.#seen(), context));
    if (said === undefined || said === null) return this.#note("gate_passed", who);
    if (typeof said === "object" && "args" in said) {
      await this.#edit(who, said.args);
      return this.#note("gate_passed", `${who} wrote new arguments`);
    }
    const { refuse } = said as { refuse?: unknown };
    if (typeof refuse === "string") this.#refuse(who, refuse);
    this.#nonsense(who, "{ args }, or { refuse } with a text, or nothing", said);
  }

  /** Nothing when the call may go on. */
  async #approval(): Promise<GateOutcome | undefined> {
    const { requiresApproval } = this.#call.tool;
    if (requiresApproval === false) return undefined;
    if (typeof requiresApproval === "function") {
      const wanted = await this.#ask("requiresApproval", (context) => requiresApproval(this.#args, context));
      // Asked with the arguments themselves, which may be of any class: the next who is asked gets others.
      if (typeof this.#call.tool.parallelSafe === "function") await this.#validate();
      if (wanted === false) return undefined;
      if (wanted !== true) this.#nonsense("requiresApproval", "true or false", wanted);
    }
    const { approver } = this.#gates;
    if (approver === undefined) return this.#suspend("approval");
    return this.#decide(await this.#askPerson(approver), "approval");
  }

  /** Does what somebody said to the call. Nothing when it may go on. */
  async #decide(said: unknown, reason: PendingCall["reason"]): Promise<GateOutcome | undefined> {
    const decision = (typeof said === "object" && said !== null ? said : {}) as Record<string, unknown>;
    if (decision.suspend === true) return this.#suspend(reason);
    if ("result" in decision) {
      this.#note("gate_passed", "approval: answered in the tool's place");
      return { kind: "answered", ...this.#left(), value: decision.result };
    }
    if (decision.approve === true) {
      if (decision.args !== undefined) {
        await this.#edit("the approver", decision.args);
        this.#approved = this.#input;
      }
      this.#note("gate_passed", decision.args === undefined ? "approval" : "approval with edited arguments");
      return undefined;
    }
    if (decision.approve === false) {
      this.#note("gate_refused", "approval");
      const reason = typeof decision.reason === "string" ? decision.reason : undefined;
      return { kind: "refused", result: denied(this.#call, reason) };
    }
    return this.#nonsense("the approver", "{ approve }, { result } or { suspend: true }", said);
  }

  async #askPerson(approver: Approver): Promise<unknown> {
    const { activity } = this.#gates;
    activity.turn("busy", "people");
    try {
      return await this.#ask("the approver", ({ signal }) => approver(this.#pending("approval"), { signal }));
    } finally {
      activity.turn("people", "busy");
    }
  }

  async #ask<T>(who: string, ask: (context: GateContext) => T | PromiseLike<T>): Promise<T> {
    const { stop, context } = this.#gates;
    try {
      // A context of its own for each question: what a gate does to it is nobody else's.
      return await stop.ask((signal) => ask({ ...context, signal }));
    } catch (threw) {
      if (isInstance(threw, Stopped)) throw threw;
      return this.#threw(who, threw);
    }
  }

  #parallelSafe(): boolean {
    const { parallelSafe } = this.#call.tool;
    if (typeof parallelSafe === "boolean") return parallelSafe;
    try {
      const said: unknown = parallelSafe(this.#args);
      hush(said);
      return said === true;
    } catch (threw) {
      return this.#threw("parallelSafe", threw);
    }
  }

  #suspend(reason: PendingCall["reason"]): GateOutcome {
    return {
      kind: "suspended",
      ...this.#left(),
      parallelSafe: this.#parallelSafe(),
      pending: this.#pending(reason),
    };
  }

  #left(): Left {
    return { input: this.#input, ...(this.#approved && { approved: this.#approved }) };
  }

  #seen(): GateCall {
    const { id, name, position } = this.#call;
    return { id, name, position, args: copyJson(this.#input) };
  }

  #pending(reason: PendingCall["reason"]): PendingCall {
    const { id, name, position, of, pendingId } = this.#call;
    const { runId, path, tenant } = this.#gates.context;
    return {
      id: pendingId,
      runId,
      path,
      callId: id,
      tool: name,
      tenant,
      args: copyJson(this.#input),
      reason,
      position,
      of,
    };
  }

  #refuse(who: string, reason: string): never {
    this.#note("gate_refused", who);
    throw new Turned({ kind: "refused", result: denied(this.#call, reason) });
  }

  #nonsense(who: string, expected: string, said: unknown): never {
    const error = new ToolFailedError(`${who}: expected ${expected}, got ${showValue(said)}`, {
      tool: this.#call.name,
    });
    return this.#fail(neverDispatched(this.#call, error.message, error), who);
  }

  #threw(who: string, threw: unknown): never {
    const error = gateFailed(this.#call.name, who, threw);
    return this.#fail(neverDispatched(this.#call, error.message, error), `${who} threw`);
  }

  #fail(result: ToolResult, detail?: string): never {
    if (detail !== undefined) this.#note("gate_refused", detail);
    throw new Turned({ kind: "failed", result });
  }
}

function gateFailed(tool: string, who: string, threw: unknown): ToolFailedError {
  return new ToolFailedError(`${who} failed: ${describeThrown(threw)}`, { tool, cause: threw });
}
