import { ConfigurationError } from "../base/errors.ts";
import {
  checkFunction,
  checkList,
  checkOneOf,
  checkOptions,
  checkPositiveInteger,
  readable,
  refuse,
} from "../base/option-checks.ts";
import { freezeJson, plainJson } from "../base/plain-json.ts";
import type { OnToolError } from "../batch/run-scope.ts";
import type { StateDeclaration } from "../batch/run-state.ts";
import { ConcurrencyConfig, type ConcurrencyOptions } from "../lanes/concurrency-config.ts";
import type { GateContext } from "../protocol/gate.ts";
import type { ModelProvider } from "../protocol/model.ts";
import type { ArgsOf, InputSchema } from "../tools/define-tool.ts";
import type { Tool } from "../tools/tool.ts";
import type { AgentLike } from "../tools/tool-context.ts";
import { type CheckedSchema, checkedSchema } from "../tools/tool-input.ts";
import { isTool } from "../tools/tool-registry.ts";
import { checkProvider } from "./check-provider.ts";

/** How many model responses a run may take when nothing is declared. */
const DEFAULT_MAX_TURNS = 20;

/** On whose behalf an agent is instructed. */
export interface InstructionsContext<Context = unknown> extends GateContext {
  /** The caller's own object, as given to the run. */
  context: Context;
  /** From 1: instructions are asked for in each. */
  turn: number;
  /** A copy of the run's state. */
  state: Record<string, unknown>;
}

/** What every {@link Agent} is made of, whatever its output. */
interface CommonOptions<Context> {
  /** Names the agent in events and errors, and finds it when a run is resumed. Not empty. */
  name: string;
  /** What the model is told: a text, or a function that is asked in every turn. Default: nothing. */
  instructions?: string | ((ctx: InstructionsContext<Context>) => string | Promise<string>) | undefined;
  /** The model's name, as its provider knows it. */
  model: string;
  /** Handed to the provider as they are: plain JSON. */
  settings?: Readonly<Record<string, unknown>> | undefined;
  /** Default: the runner's. */
  provider?: ModelProvider | undefined;
  /** Names of the runner's tools, or tools. Default: all of the runner's. */
  // biome-ignore lint/suspicious/noExplicitAny: a list of tools holds tools of any arguments.
  tools?: readonly (string | Tool<any, Context>)[] | undefined;
  /** Narrows what the runner declared, for this agent's own turns (`Semantics 4.2`). */
  concurrency?: ConcurrencyOptions | ConcurrencyConfig | undefined;
  /** What becomes of a run one of whose calls fails (`Semantics 7.1`). Default `surface_to_model`. */
  onToolError?: OnToolError | undefined;
  /** How many model responses a run may take (`Semantics 2.11`). Default 20. */
  maxTurns?: number | undefined;
  /** Keys of the run's state: where they start, and how a call's write is combined with what stands there. */
  state?: StateDeclaration | undefined;
}

/** An agent whose output is the text of its model's last answer. */
export interface FreeTextAgentOptions<Context = unknown> extends CommonOptions<Context> {
  freeText: true;
  output?: undefined;
}

/**
 * An agent whose output is JSON that fits a schema: a Standard Schema that gives JSON Schema, or plain JSON Schema, of an
 * object in any case. A model whose answer does not fit is told once what was wrong.
 */
export interface StructuredAgentOptions<Schema extends InputSchema, Context = unknown> extends CommonOptions<Context> {
  output: Schema;
  freeText?: undefined;
}

/** What an {@link Agent} is made of: exactly one of `freeText` and `output`. */
export type AgentOptions<Context = unknown> =
  | FreeTextAgentOptions<Context>
  | StructuredAgentOptions<InputSchema, Context>;

const KNOWN = [
  "name",
  "instructions",
  "model",
  "settings",
  "provider",
  "freeText",
  "output",
  "tools",
  "concurrency",
  "onToolError",
  "maxTurns",
  "state",
] as const satisfies readonly (keyof AgentOptions)[];

class CheckedAgent<Output, Context> implements AgentLike<Output> {
  declare readonly "~output"?: Output;
  declare readonly "~context"?: (context: Context) => void;
  readonly name: string;
  readonly instructions: string | ((ctx: InstructionsContext<Context>) => string | Promise<string>);
  readonly model: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly provider: ModelProvider | undefined;
  /** What the last answer must fit; undefined for free text. */
  readonly output: CheckedSchema | undefined;
  /** Undefined for all of the runner's. */
  readonly tools: readonly (string | Tool)[] | undefined;
  readonly concurrency: ConcurrencyConfig;
  readonly onToolError: OnToolError;
  readonly maxTurns: number;
  readonly state: StateDeclaration;

  constructor(options: AgentOptions<Context>) {
    const given = checkOptions("agent", options, KNOWN);
    const { name, instructions = "", model, settings = {}, tools, onToolError = "surface_to_model", maxTurns } = given;
    if (typeof name !== "string" || name === "") refuse("agent.name", "a text that is not empty", name);
    const at = `agent ${JSON.stringify(name)}`;
    if (typeof instructions !== "string" && typeof instructions !== "function") {
      refuse(`${at}.instructions`, "a text or a function", instructions);
    }
    if (typeof model !== "string" || model === "") refuse(`${at}.model`, "a text that is not empty", model);
    if (
      (given.output === undefined) !== (given.freeText === true) ||
      ![undefined, true].includes(given.freeText as true)
    ) {
      const came = [
        given.freeText === undefined ? [] : ["freeText"],
        given.output === undefined ? [] : ["output"],
      ].flat();
      throw new ConfigurationError(
        `${at}: expected freeText: true or an output schema, one of the two, got ${came.join(" and ") || "neither"}`,
      );
    }
    this.name = name;
    this.instructions = instructions as string;
    this.model = model;
    this.settings = checkSettings(`${at}.settings`, settings);
    this.provider = checkProvider(`${at}.provider`, given.provider);
    this.output =
      given.output === undefined
        ? undefined
        : readable(`${at}.output`, () =>
            checkedSchema(`${at}.output`, given.output, { instead: "or give plain JSON Schema" }),
          );
    this.tools = checkTools(`${at}.tools`, tools);
    this.concurrency = new ConcurrencyConfig(given.concurrency as ConcurrencyOptions, `${at}.concurrency`);
    this.onToolError = checkOneOf(`${at}.onToolError`, onToolError, ["surface_to_model", "fail_run"]);
    this.maxTurns = maxTurns === undefined ? DEFAULT_MAX_TURNS : checkPositiveInteger(`${at}.maxTurns`, maxTurns);
    this.state = readable(`${at}.state`, () => checkState(`${at}.state`, given.state));
    Object.freeze(this);
  }
}

/**
 * Who is asked, with what, and within which limits. Checked once, when it is made, and immutable.
 *
 * `Output` is the type of a run's output, `Context` what a run must be given as `context`. One agent may be run any
 * number of times at once.
 */
export type Agent<Output = string, Context = unknown> = CheckedAgent<Output, Context>;

/** Makes agents; see {@link Agent}. */
export interface AgentConstructor {
  /** @throws ConfigurationError (`CONFIGURATION`) for every option that could never work, unknown ones included. */
  new <const Schema extends InputSchema, Context = unknown>(
    options: StructuredAgentOptions<Schema, Context>,
  ): Agent<ArgsOf<Schema>, Context>;
  /** @throws ConfigurationError (`CONFIGURATION`) for every option that could never work, unknown ones included. */
  new <Context = unknown>(options: FreeTextAgentOptions<Context>): Agent<string, Context>;
}

/**
 * Makes an agent, checked as a whole.
 *
 * @throws ConfigurationError (`CONFIGURATION`) for every option that could never work, unknown ones included.
 * @example
 * const planner = new Agent({ name: "planner", instructions: "Plan trips.", model: "claude-sonnet-5", freeText: true });
 * const judge = new Agent({ name: "judge", model: "claude-sonnet-5", output: z.object({ fits: z.boolean() }) });
 */
export const Agent: AgentConstructor = CheckedAgent as never;
Object.defineProperty(CheckedAgent, "name", { value: "Agent" });

function checkSettings(path: string, settings: unknown): Readonly<Record<string, unknown>> {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) refuse(path, "an object", settings);
  try {
    return freezeJson(plainJson(settings) as Record<string, unknown>);
  } catch (cause) {
    throw new ConfigurationError(`${path}: expected plain JSON; ${(cause as Error).message}`, { cause });
  }
}

function checkTools(path: string, tools: unknown): readonly (string | Tool)[] | undefined {
  if (tools === undefined) return undefined;
  const each = checkList(path, "an array of names or tools", tools);
  const names = new Set<string>();
  each.forEach((tool, at) => {
    if (typeof tool !== "string" && !isTool(tool)) refuse(`${path}[${at}]`, "the name of a tool, or a tool", tool);
    const name = typeof tool === "string" ? tool : tool.name;
    if (names.has(name)) refuse(`${path}[${at}]`, "each tool once", name);
    names.add(name);
  });
  return Object.freeze(each) as readonly (string | Tool)[];
}

function checkState(path: string, state: unknown): StateDeclaration {
  if (state === undefined) return {};
  if (typeof state !== "object" || state === null || Array.isArray(state)) refuse(path, "an object", state);
  const declared: Record<string, { initial?: unknown; reduce?: never }> = Object.create(null);
  for (const [key, declaration] of Object.entries(state)) {
    const at = `${path}.${key}`;
    const { initial, reduce } = checkOptions(at, declaration, ["initial", "reduce"]);
    checkFunction(`${at}.reduce`, reduce);
    try {
      declared[key] = {
        ...(initial === undefined ? {} : { initial: freezeJson(plainJson(initial)) }),
        ...(reduce === undefined ? {} : { reduce: reduce as never }),
      };
    } catch (cause) {
      throw new ConfigurationError(`${at}.initial: expected plain JSON; ${(cause as Error).message}`, { cause });
    }
  }
  return Object.freeze(declared);
}
