/**
 * What a result passes before anybody is told its content (`Semantics 3.4`): guardrails, then `afterTool` hooks.
 *
 * They see what a tool or a person brought; a call that failed has brought nothing. What throws or answers nonsense
 * counts against its own call: nothing that was not checked is shown to a model.
 */
import { copyJson } from "../base/copy-json.ts";
import { describeThrown } from "../base/describe-thrown.ts";
import { isInstance } from "../base/is-instance.ts";
import { showValue } from "../base/show-value.ts";
import type { GateCall, GateContext } from "../protocol/gate.ts";
import type { ToolResult } from "../protocol/tool-result.ts";
import { toolOutput } from "../tools/result-text.ts";
import { ToolFailedError, type ToolOutputError } from "../tools/tool-errors.ts";
import { GuardrailViolationError } from "./batch-errors.ts";
import type { Brought, Call } from "./call.ts";
import { failure, Stopped } from "./stop.ts";
import { failed } from "./verdict.ts";

/** What the gates left of what a call brought, or why the call has failed after all. */
export type Checked = { readonly brought: Brought } | { readonly result: ToolResult };

/**
 * Takes what one call brought through the output gates.
 *
 * Rejects only with {@link Stopped}, when the run stopped meanwhile.
 */
export async function passOutputGates(call: Call, brought: Brought, context: GateContext): Promise<Checked> {
  try {
    return await askAll(call, brought, context);
  } catch (threw) {
    if (isInstance(threw, Stopped)) throw threw;
    // Whatever an answer throws when it is read.
    return { result: gateFailed(call, "an output gate", threw) };
  }
}

async function askAll(call: Call, brought: Brought, context: GateContext): Promise<Checked> {
  let now = brought;
  for (const guardrail of call.scope.guardrails) {
    if (guardrail.after === undefined) continue;
    const who = `guardrail ${JSON.stringify(guardrail.name)}`;
    const said = await ask(call, who, context, (own) => guardrail.after?.(seen(call), resultOf(call, now), own));
    if ("result" in said) return said;
    if (said.answer === undefined || said.answer === null) continue;
    const { refuse, endRun } = said.answer as { refuse?: unknown; endRun?: unknown };
    if (typeof endRun === "string") {
      const error = new GuardrailViolationError(guardrail.name, endRun);
      // What ends the run is not told either.
      call.settle(lost(call, error));
      call.scope.stop.fire(failure(error));
      throw new Stopped();
    }
    if (typeof refuse !== "string")
      return nonsense(call, who, "{ refuse } or { endRun } with a text, or nothing", said);
    call.tellOfGate("gate_refused", `${who}, after the call`);
    const error = new GuardrailViolationError(guardrail.name, refuse);
    return { result: lost(call, error) };
  }
  for (const hook of call.scope.hooks) {
    if (hook.afterTool === undefined) continue;
    const who = `hook ${JSON.stringify(hook.name)}`;
    const said = await ask(call, who, context, (own) => hook.afterTool?.(seen(call), resultOf(call, now), own));
    if ("result" in said) return said;
    if (said.answer === undefined || said.answer === null) continue;
    if (typeof said.answer !== "object" || !("result" in said.answer)) {
      return nonsense(call, who, "{ result }, or nothing", said);
    }
    const { result } = said.answer;
    try {
      now = { ...now, ...toolOutput(call.name, result, call.scope.limits) };
    } catch (error) {
      return { result: lost(call, error as ToolOutputError) };
    }
  }
  return { brought: now };
}

/** Whether anything stands between what a call brings and the model. */
export function hasOutputGates({ scope }: Call): boolean {
  return (
    scope.guardrails.some(({ after }) => after !== undefined) ||
    scope.hooks.some(({ afterTool }) => afterTool !== undefined)
  );
}

/** The result of a call that brought something. */
export function resultOf(call: Call, { value, text }: Brought): ToolResult {
  return {
    callId: call.id,
    name: call.name,
    status: "ok",
    content: text,
    value: copyJson(value),
    mayHaveLanded: false,
  };
}

/** What it did is done; only what it brought is lost to the model. */
export function lost(call: Call, error: ToolOutputError | GuardrailViolationError | ToolFailedError): ToolResult {
  return failed(call, error, call.mayHaveLanded);
}

async function ask(
  call: Call,
  who: string,
  context: GateContext,
  ask: (context: GateContext) => unknown,
): Promise<{ readonly answer: unknown } | { readonly result: ToolResult }> {
  try {
    return { answer: await call.scope.stop.ask((signal) => ask({ ...context, signal })) };
  } catch (threw) {
    if (isInstance(threw, Stopped)) throw threw;
    return { result: gateFailed(call, who, threw) };
  }
}

function gateFailed(call: Call, who: string, threw: unknown): ToolResult {
  call.tellOfGate("gate_refused", `${who} threw, after the call`);
  return lost(call, new ToolFailedError(`${who} failed: ${describeThrown(threw)}`, { tool: call.name, cause: threw }));
}

function nonsense(call: Call, who: string, expected: string, said: { readonly answer: unknown }): Checked {
  call.tellOfGate("gate_refused", `${who}, after the call`);
  const error = new ToolFailedError(`${who}: expected ${expected}, got ${showValue(said.answer)}`, { tool: call.name });
  return { result: lost(call, error) };
}

function seen({ id, name, position, input }: Call): GateCall {
  return { id, name, position, args: copyJson(input) };
}
