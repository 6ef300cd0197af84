/**
 * A model that answers from a script.
 *
 * Owns the script, its order and the check of every request (`check-request.ts`).
 *
 * P1 Each request takes exactly one step, in the order of arrival (per agent, with `byAgent`); none is taken twice.
 * P2 A request too many and a step too many are both errors: the first at once, the second in `assertFinished`.
 * P3 A request that a strict vendor would refuse is refused, and takes no step.
 * P4 When the signal aborts, the request rejects with its reason at once; whatever the step does later changes nothing.
 */
import { linkAbort } from "../base/abort-link.ts";
import { readable, refuse } from "../base/option-checks.ts";
import { showValue } from "../base/show-value.ts";
import type { ModelCall, ModelDelta, ModelProvider, ModelRequest, ModelResponse } from "../protocol/model.ts";
import { checkRequest } from "./check-request.ts";
import { frozenCopy } from "./frozen-copy.ts";
import { responseDeltas } from "./response-deltas.ts";
import { type BrokenResponse, hasImpliedId } from "./responses.ts";
import { TestingError } from "./testing-error.ts";

/**
 * One step of a script: the response (`say`, `calls`), a function of the request that makes it, an error to throw, or
 * a response whose stream breaks (`breaksOff`).
 *
 * A function sees the frozen copy of the request that {@link ScriptedProvider.requests} keeps.
 */
export type ScriptStep =
  | ModelResponse
  | BrokenResponse
  | Error
  | ((request: ModelRequest, options: ModelCall) => ModelResponse | Promise<ModelResponse>);

interface Answer {
  readonly response: ModelResponse;
  readonly afterPieces: number | undefined;
  readonly error: Error | undefined;
}

interface Script {
  readonly agent: string | undefined;
  readonly steps: readonly ScriptStep[];
  taken: number;
}

/**
 * A model for tests: answers each request with the next step of its script, and checks each as strictly as vendors do.
 *
 * A request beyond the script, or one that some vendor would refuse, rejects with a `TestingError` that says what is
 * wrong, and {@link ScriptedProvider.assertFinished} repeats it. With nested or concurrent runs, write one script
 * per agent ({@link ScriptedProvider.byAgent}); two concurrent runs of one agent share its script in order of
 * arrival, so let their steps be functions of the request.
 *
 * @example
 * const provider = new ScriptedProvider(calls({ search: { q: "x" } }), say("Found."));
 * const run = await new AgentRunner({ provider, tools: [search] }).run(agent, "Go.");
 * expect(provider.requests[1]?.messages.at(-1)).toMatchObject({ role: "tool", content: "…" });
 * provider.assertFinished();
 */
export class ScriptedProvider implements ModelProvider {
  readonly name: string = "scripted";

  #scripts: Script[];
  readonly #requests: { agent: string; request: ModelRequest }[] = [];
  readonly #faults: string[] = [];

  /** @throws CONFIGURATION for a step that is no response, function or error. */
  constructor(...responses: ScriptStep[]) {
    this.#scripts = [readable("ScriptedProvider", () => scriptOf(undefined, responses))];
  }

  /**
   * A script for each agent, by the agent's name. An agent without one must not ask.
   *
   * @throws CONFIGURATION for a step that is no response, function or error.
   */
  static byAgent(scripts: Record<string, readonly ScriptStep[]>): ScriptedProvider {
    const provider = new ScriptedProvider();
    provider.#scripts = readable("ScriptedProvider.byAgent", () =>
      Object.entries(scripts).map(([agent, steps]) => scriptOf(agent, steps)),
    );
    return provider;
  }

  /** What was asked, in the order of arrival, refused requests included: copies that cannot be changed. */
  get requests(): readonly ModelRequest[] {
    return this.#requests.map(({ request }) => request);
  }

  /** What runs of this agent asked, in the order of arrival. */
  requestsOf(agent: string): readonly ModelRequest[] {
    return this.#requests.filter((asked) => asked.agent === agent).map(({ request }) => request);
  }

  /** @throws TESTING for a request beyond the script or one that a strict vendor would refuse; else what the step throws. */
  async generate(request: ModelRequest, options: ModelCall): Promise<ModelResponse> {
    const { response, error } = await this.#answer(request, options);
    if (error !== undefined) throw error;
    return response;
  }

  /** The same answers in pieces: text, then each call's arguments, then the whole. Takes a step as `generate` does. */
  async *stream(request: ModelRequest, options: ModelCall): AsyncGenerator<ModelDelta, void, undefined> {
    const { response, afterPieces, error } = await this.#answer(request, options);
    for (const [index, delta] of responseDeltas(response).entries()) {
      options.signal.throwIfAborted();
      if (error !== undefined && (index === afterPieces || delta.type === "end")) throw error;
      yield delta;
    }
  }

  /**
   * Throws when a step was not asked for, or a request was refused.
   *
   * @throws TESTING naming each.
   */
  assertFinished(): void {
    const problems = [...this.#faults];
    for (const { agent, steps, taken } of this.#scripts) {
      for (let index = taken; index < steps.length; index += 1) {
        const whose = agent === undefined ? "" : ` of ${JSON.stringify(agent)}`;
        problems.push(`step ${index + 1} of ${steps.length}${whose} was never asked for: ${showStep(steps[index])}`);
      }
    }
    if (problems.length > 0) throw new TestingError("The script and the run do not fit together.", problems);
  }

  async #answer(asked: ModelRequest, options: ModelCall): Promise<Answer> {
    const request = frozenCopy(asked);
    const { agent, id, path, turn } = options.run;
    this.#requests.push({ agent, request });
    const which = `request ${this.#requests.length} (agent ${JSON.stringify(agent)}, run ${id}, path ${path}, turn ${turn})`;
    options.signal.throwIfAborted();
    const problems = checkRequest(asked);
    if (problems.length > 0) {
      this.#faults.push(...problems.map((problem) => `${which}: ${problem}`));
      throw new TestingError(`A strict vendor would refuse ${which}.`, problems);
    }
    const step = this.#take(agent, which);
    const broken = isBroken(step) ? step : undefined;
    const response =
      broken?.response ?? (await this.#perform(step as Exclude<ScriptStep, BrokenResponse>, request, options));
    if (typeof response !== "object" || response === null || !Array.isArray(response.toolCalls)) {
      throw this.#fault(`${which}: expected its step to give a ModelResponse, got ${showValue(response)}`);
    }
    return { response: withUniqueIds(response, request), afterPieces: broken?.afterPieces, error: broken?.error };
  }

  #take(agent: string, which: string): ScriptStep {
    const script = this.#scripts.find((one) => one.agent === undefined || one.agent === agent);
    if (script === undefined) {
      const known = this.#scripts.map((one) => JSON.stringify(one.agent)).join(", ");
      throw this.#fault(`${which}: no script for this agent; there are scripts for ${known || "none"}`);
    }
    const step = script.steps[script.taken];
    if (step === undefined) {
      throw this.#fault(`${which}: the script has only ${script.steps.length} steps, and all were taken`);
    }
    script.taken += 1;
    return step;
  }

  #fault(problem: string): TestingError {
    this.#faults.push(problem);
    return new TestingError(problem);
  }

  async #perform(
    step: Exclude<ScriptStep, BrokenResponse>,
    request: ModelRequest,
    options: ModelCall,
  ): Promise<ModelResponse> {
    if (step instanceof Error) throw step;
    if (typeof step !== "function") return step;
    const { signal } = options;
    let unlink = (): void => {};
    const aborted = new Promise<never>((_, reject) => {
      unlink = linkAbort(signal, () => reject(signal.reason));
    });
    // A step may abort the signal itself and throw: then nobody is left to hear of it here.
    aborted.catch(() => {});
    try {
      return await Promise.race([aborted, step(request, options)]);
    } finally {
      unlink();
    }
  }
}

function scriptOf(agent: string | undefined, steps: readonly ScriptStep[]): Script {
  const whose = agent === undefined ? "" : ` of ${JSON.stringify(agent)}`;
  for (const [index, step] of steps.entries()) {
    if (!isStep(step)) {
      refuse(
        `ScriptedProvider step ${index + 1}${whose}`,
        "a ModelResponse (say, calls), a function or an Error",
        step,
      );
    }
  }
  return { agent, steps: [...steps], taken: 0 };
}

function isStep(step: unknown): boolean {
  if (typeof step === "function" || step instanceof Error) return true;
  return typeof step === "object" && step !== null && ("toolCalls" in step || "afterPieces" in step);
}

function isBroken(step: ScriptStep): step is BrokenResponse {
  return typeof step === "object" && "afterPieces" in step;
}

/** A response of its own, in which the ids that nobody wrote carry the turn as the transcript counts it. */
function withUniqueIds(response: ModelResponse, request: ModelRequest): ModelResponse {
  const turn = 1 + request.messages.filter(({ role }) => role === "assistant").length;
  return {
    ...response,
    toolCalls: response.toolCalls.map((call) => (hasImpliedId(call) ? { ...call, id: `t${turn}_${call.id}` } : call)),
  };
}

function showStep(step: ScriptStep | undefined): string {
  if (typeof step === "function") return "a function of the request";
  if (step instanceof Error || step === undefined) return showValue(step);
  if (isBroken(step)) return `${showStep(step.response)}, and breaks off`;
  const asked = step.toolCalls.map(({ name }) => name).join(", ");
  return asked === "" ? `says ${showValue(step.content)}` : `calls ${asked}`;
}
