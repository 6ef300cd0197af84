import { ConfigurationError } from "../base/errors.ts";
import { checkFunction, checkOneOf, checkOptions, checkPositiveInteger, refuse } from "../base/option-checks.ts";
import { freezeJson, plainJson } from "../base/plain-json.ts";
import type { OnToolError } from "../batch/run-scope.ts";
import type { StateDeclaration } from "../batch/run-state.ts";
import { ConcurrencyConfig, type ConcurrencyOptions } from "../lanes/concurrency-config.ts";
import type { ModelProvider } from "../protocol/model.ts";
import type { Tool } from "../tools/tool.ts";
import type { AgentLike } from "../tools/tool-context.ts";
import { isTool } from "../tools/tool-registry.ts";
import { checkProvider } from "./check-provider.ts";

/** How many model responses a run may take when nothing is declared. */
const DEFAULT_MAX_TURNS = 20;

/** What an {@link Agent} is made of. */
export interface AgentOptions<Context = unknown> {
  /** Names the agent in events and errors, and finds it when a run is resumed. Not empty. */
  name: string;
  /** What the model is told in every turn. Default: nothing. */
  instructions?: string | undefined;
  /** The model's name, as its provider knows it. */
  model: string;
  /** Handed to the provider as they are: plain JSON. */
  settings?: Readonly<Record<string, unknown>> | undefined;
  /** Default: the runner's. */
  provider?: ModelProvider | undefined;
  /** The run's output is the text of the model's last answer. */
  freeText: true;
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

const KNOWN = [
  "name",
  "instructions",
  "model",
  "settings",
  "provider",
  "freeText",
  "tools",
  "concurrency",
  "onToolError",
  "maxTurns",
  "state",
] as const satisfies readonly (keyof AgentOptions)[];

/**
 * Who is asked, with what, and within which limits. Checked once, here, and immutable.
 *
 * `Output` is the type of a run's output, `Context` what a run must be given as `context`. One agent may be run any
 * number of times at once.
 *
 * @example
 * const planner = new Agent({ name: "planner", instructions: "Plan trips.", model: "claude-sonnet-5", freeText: true });
 */
export class Agent<Output = string, Context = unknown> implements AgentLike<Output> {
  declare readonly "~output"?: Output;
  declare readonly "~context"?: (context: Context) => void;
  readonly name: string;
  readonly instructions: string;
  readonly model: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly provider: ModelProvider | undefined;
  /** Undefined for all of the runner's. */
  readonly tools: readonly (string | Tool)[] | undefined;
  readonly concurrency: ConcurrencyConfig;
  readonly onToolError: OnToolError;
  readonly maxTurns: number;
  readonly state: StateDeclaration;

  /** @throws ConfigurationError (`CONFIGURATION`) for every option that could never work, unknown ones included. */
  constructor(options: AgentOptions<Context>) {
    const given = checkOptions("agent", options, [...KNOWN, "output"]);
    const { name, instructions = "", model, settings = {}, tools, onToolError = "surface_to_model", maxTurns } = given;
    if (typeof name !== "string" || name === "") refuse("agent.name", "a text that is not empty", name);
    const at = `agent ${JSON.stringify(name)}`;
    if (typeof instructions !== "string") refuse(`${at}.instructions`, "a text", instructions);
    if (typeof model !== "string" || model === "") refuse(`${at}.model`, "a text that is not empty", model);
    if (given.output !== undefined) {
      throw new ConfigurationError(`${at}.output: structured output is not here yet; expected freeText: true instead`);
    }
    if (given.freeText !== true) refuse(`${at}.freeText`, "true", given.freeText);
    this.name = name;
    this.instructions = instructions;
    this.model = model;
    this.settings = checkSettings(`${at}.settings`, settings);
    this.provider = checkProvider(`${at}.provider`, given.provider);
    this.tools = checkTools(`${at}.tools`, tools);
    this.concurrency = new ConcurrencyConfig((given.concurrency ?? {}) as ConcurrencyOptions, `${at}.concurrency`);
    this.onToolError = checkOneOf(`${at}.onToolError`, onToolError, ["surface_to_model", "fail_run"]);
    this.maxTurns = maxTurns === undefined ? DEFAULT_MAX_TURNS : checkPositiveInteger(`${at}.maxTurns`, maxTurns);
    this.state = checkState(`${at}.state`, given.state);
    Object.freeze(this);
  }
}

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
  if (!Array.isArray(tools)) refuse(path, "an array of names or tools", tools);
  const names = new Set<string>();
  tools.forEach((tool: unknown, at) => {
    if (typeof tool !== "string" && !isTool(tool)) refuse(`${path}[${at}]`, "the name of a tool, or a tool", tool);
    const name = typeof tool === "string" ? tool : tool.name;
    if (names.has(name)) refuse(`${path}[${at}]`, "each tool once", name);
    names.add(name);
  });
  return Object.freeze([...tools]) as readonly (string | Tool)[];
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
