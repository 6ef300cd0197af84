/**
 * What vendors refuse, judged on our own message form.
 *
 * Owns the union of their rules, so that a transcript that passes here is accepted by each of them. What depends on a
 * vendor's wire form (merging results into one message, signatures) is its adapter's.
 *
 * R1 The calls of an assistant message are answered by the tool messages right after it: one each, in call order.
 * R2 A call id is text, not empty, and used once in the whole transcript; a result without a call is refused.
 * R3 Content is text or a list of parts that is not empty.
 * R4 Arguments are an object, or JSON text of one; everything is plain JSON in well-formed text.
 */
import { describeThrown } from "../base/describe-thrown.ts";
import { showValue } from "../base/show-value.ts";
import type { ModelRequest } from "../protocol/model.ts";
import { isPlainObject, plainJsonProblems } from "./plain-json.ts";

const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

interface Call {
  readonly id: string;
  readonly name: unknown;
}

/**
 * What a strict vendor would find wrong with a request, one line each; none when it would be accepted.
 *
 * Takes anything. `ScriptedProvider` asks it about every request.
 */
export function checkRequest(request: ModelRequest): string[] {
  try {
    return problemsOf(request);
  } catch (threw) {
    return [`expected a request that can be read: ${describeThrown(threw)}`];
  }
}

function problemsOf(request: ModelRequest): string[] {
  if (!isPlainObject(request)) return [`expected a request, got ${showValue(request)}`];
  const problems: string[] = [];
  const { messages, tools, ...rest } = request;
  if (typeof request.model !== "string") problems.push(`model: expected text, got ${showValue(request.model)}`);
  if (typeof request.instructions !== "string") {
    problems.push(`instructions: expected text, got ${showValue(request.instructions)}`);
  }
  if (!isPlainObject(request.settings))
    problems.push(`settings: expected an object, got ${showValue(request.settings)}`);
  for (const [key, value] of Object.entries(rest)) problems.push(...plainJsonProblems(key, value));
  checkTools(tools, problems);
  if (!Array.isArray(messages)) problems.push(`messages: expected a list, got ${showValue(messages)}`);
  else checkMessages(messages, problems);
  return problems;
}

function checkTools(tools: unknown, problems: string[]): void {
  if (!Array.isArray(tools)) {
    problems.push(`tools: expected a list, got ${showValue(tools)}`);
    return;
  }
  problems.push(...plainJsonProblems("tools", tools));
  const names = new Set<unknown>();
  for (const [index, tool] of tools.entries()) {
    const { name, description, inputSchema } = isPlainObject(tool) ? tool : ({} as Record<string, unknown>);
    const at = `tools[${index}]`;
    if (typeof name !== "string" || !TOOL_NAME.test(name)) {
      problems.push(`${at}.name: expected ${TOOL_NAME.source}, got ${showValue(name)}`);
    } else if (names.has(name)) problems.push(`${at}.name: ${name} is there twice`);
    names.add(name);
    if (typeof description !== "string")
      problems.push(`${at}.description: expected text, got ${showValue(description)}`);
    if (!isPlainObject(inputSchema))
      problems.push(`${at}.inputSchema: expected a JSON Schema, got ${showValue(inputSchema)}`);
  }
}

function checkMessages(messages: readonly unknown[], problems: string[]): void {
  const firstUse = new Map<string, string>();
  let index = 0;
  while (index < messages.length) {
    const message = messages[index];
    const at = `messages[${index}]`;
    index += 1;
    if (!isPlainObject(message)) {
      problems.push(`${at}: expected a message, got ${showValue(message)}`);
      continue;
    }
    checkMessage(at, message, problems);
    if (message.role === "tool") {
      problems.push(
        `${at}: a result for ${showValue(message.callId)} that no assistant message right before it asked for`,
      );
    } else if (message.role === "assistant" && message.toolCalls !== undefined) {
      const calls = checkCalls(at, message.toolCalls, firstUse, problems);
      const results: Record<string, unknown>[] = [];
      for (let next = messages[index]; isPlainObject(next) && next.role === "tool"; next = messages[index]) {
        checkMessage(`messages[${index}]`, next, problems);
        results.push(next);
        index += 1;
      }
      checkAnswers(at, calls, results, messages, index, problems);
    }
  }
}

function checkMessage(at: string, message: Record<string, unknown>, problems: string[]): void {
  const { role, content, ...rest } = message;
  if (role !== "system" && role !== "user" && role !== "assistant" && role !== "tool") {
    problems.push(`${at}.role: expected system, user, assistant or tool, got ${showValue(role)}`);
  }
  if (Array.isArray(content) && (role === "user" || role === "tool")) {
    if (content.length === 0) problems.push(`${at}.content: a list of parts must not be empty`);
    for (const [index, part] of content.entries()) checkPart(`${at}.content[${index}]`, part, problems);
  } else if (typeof content !== "string") {
    const parts = role === "user" || role === "tool" ? " or a list of parts" : "";
    problems.push(`${at}.content: expected text${parts}, got ${showValue(content)}`);
  } else {
    problems.push(...plainJsonProblems(`${at}.content`, content));
  }
  for (const [key, value] of Object.entries(rest)) problems.push(...plainJsonProblems(`${at}.${key}`, value));
  if (role === "tool" && typeof message.isError !== "boolean") {
    problems.push(`${at}.isError: expected true or false, got ${showValue(message.isError)}`);
  }
}

function checkPart(at: string, part: unknown, problems: string[]): void {
  if (isPlainObject(part) && part.type === "text" && typeof part.text === "string") {
    problems.push(...plainJsonProblems(at, part));
  } else if (isPlainObject(part) && part.type === "file" && typeof part.mediaType === "string") {
    const { data, ...rest } = part;
    problems.push(...plainJsonProblems(at, rest));
    if (typeof data !== "string" && !(data instanceof Uint8Array)) {
      problems.push(`${at}.data: expected text or bytes, got ${showValue(data)}`);
    }
  } else {
    problems.push(`${at}: expected a text part or a file part, got ${showValue(part)}`);
  }
}

function checkCalls(at: string, toolCalls: unknown, firstUse: Map<string, string>, problems: string[]): Call[] {
  if (!Array.isArray(toolCalls) || toolCalls.length === 0) {
    problems.push(`${at}.toolCalls: expected at least one call, or no such field; got ${showValue(toolCalls)}`);
    return [];
  }
  const calls: Call[] = [];
  for (const [index, call] of toolCalls.entries()) {
    const place = `${at}.toolCalls[${index}]`;
    const { id, name, args } = isPlainObject(call) ? call : ({} as Record<string, unknown>);
    if (typeof name !== "string" || name === "")
      problems.push(`${place}.name: expected a tool's name, got ${showValue(name)}`);
    const parsed = typeof args === "string" ? parse(args) : args;
    if (!isPlainObject(parsed)) {
      problems.push(`${place}.args: expected an object, or JSON text of one, got ${showValue(args)}`);
    }
    if (typeof id !== "string" || id === "") {
      problems.push(`${place}.id: expected an id, got ${showValue(id)}`);
      continue;
    }
    const first = firstUse.get(id);
    if (first === undefined) firstUse.set(id, place);
    else problems.push(`${place}.id: ${JSON.stringify(id)} is the id of ${first} too`);
    calls.push({ id, name });
  }
  return calls;
}

function checkAnswers(
  at: string,
  calls: readonly Call[],
  results: readonly Record<string, unknown>[],
  messages: readonly unknown[],
  end: number,
  problems: string[],
): void {
  const seen = new Set<unknown>();
  const byId = new Map<unknown, Call>(calls.map((call) => [call.id, call]));
  for (const [index, { callId, name }] of results.entries()) {
    const place = `messages[${end - results.length + index}]`;
    const call = byId.get(callId);
    if (call === undefined) problems.push(`${place}: a result for ${showValue(callId)}, which ${at} did not ask for`);
    else if (seen.has(callId)) problems.push(`${place}: a second result for ${showValue(callId)}`);
    else if (name !== call.name) {
      problems.push(`${place}.name: expected ${showValue(call.name)} as in its call, got ${showValue(name)}`);
    }
    seen.add(callId);
  }
  for (const { id } of calls) {
    if (seen.has(id)) continue;
    const later = messages.findIndex(
      (one, index) => index >= end && isPlainObject(one) && one.role === "tool" && one.callId === id,
    );
    const answered = later < 0 ? "has no result" : `is answered only in messages[${later}], with something in between`;
    problems.push(`${at}: call ${JSON.stringify(id)} ${answered}`);
  }
  const asked = [...byId.keys()].filter((id) => seen.has(id));
  const answered = [...seen].filter((id) => byId.has(id));
  if (asked.some((id, index) => id !== answered[index])) {
    problems.push(`${at}: results out of call order: expected ${asked.join(", ")}, got ${answered.join(", ")}`);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
