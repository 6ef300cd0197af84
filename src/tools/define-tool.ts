import type { StandardSchemaV1 } from "@standard-schema/spec";
import { ConfigurationError } from "../base/errors.ts";
import { checkFunction, checkOptions, checkSeconds, readable, refuse } from "../base/option-checks.ts";
import type { JsonSchema } from "../protocol/json-schema.ts";
import type { FromJsonSchema } from "./from-json-schema.ts";
import { checkRetry, type RetryOptions } from "./retry-policy.ts";
import type { ApprovalContext, Reconcile, Tool } from "./tool.ts";
import type { ToolContext } from "./tool-context.ts";
import { toolInput } from "./tool-input.ts";

/** What declares a tool's arguments: a Standard Schema (zod, valibot, arktype, …) or a plain JSON Schema. */
export type InputSchema = StandardSchemaV1 | JsonSchema;

/** The arguments that a body gets: what the schema's parse puts out. */
export type ArgsOf<Input> = Input extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Input>
  : unknown extends FromJsonSchema<Input>
    ? Record<string, unknown>
    : FromJsonSchema<Input>;

/**
 * The context in functions beside the body: whatever they annotate. Were it the tool's own, one that leaves `ctx` open
 * would decide it before the body's annotation is read.
 */
// biome-ignore lint/suspicious/noExplicitAny: see above.
type AsAnnotated = any;

/** What {@link defineTool} takes. */
export interface ToolOptions<Input extends InputSchema = InputSchema, Context = unknown> {
  /** `^[A-Za-z0-9_-]{1,64}$`, as vendors demand. */
  name: string;
  /** What the model is told about the tool. */
  description: string;
  /** The arguments: a Standard Schema that gives JSON Schema, or plain JSON Schema. An object schema in any case. */
  input: Input;
  /** What models are shown instead of `input`'s own JSON Schema; needed for an `input` that cannot give one. */
  inputSchema?: JsonSchema | undefined;
  /** Whether a second call with the same arguments changes nothing more. Default false. */
  idempotent?: boolean | undefined;
  /** Whether a call may be in flight beside its neighbours (`Semantics 5`). Default true. */
  parallelSafe?: boolean | ((args: ArgsOf<Input>) => boolean) | undefined;
  /** A lane that several tools share: a server, a partner's API. Its bound stands in `concurrency.perResource`. */
  resource?: string | undefined;
  /** Whether somebody must approve each call. Default false. */
  requiresApproval?:
    | boolean
    | ((args: ArgsOf<Input>, ctx: ApprovalContext<AsAnnotated>) => boolean | Promise<boolean>)
    | undefined;
  /** How failed attempts are repeated (`Semantics 7.5`); only with `idempotent: true`. */
  retry?: RetryOptions | undefined;
  /** Asked once after a crash whether a call that was dispatched has landed (`Semantics 11.2`). */
  reconcile?: Reconcile<ArgsOf<Input>, AsAnnotated> | undefined;
  /** Seconds after which a deaf body is abandoned (`Semantics 4.8`); `Infinity` is never. Default: the lanes' own. */
  abandonSeconds?: number | undefined;
  /** The body. Left out, each call is answered from outside: it suspends its run. */
  run?: ((args: ArgsOf<Input>, ctx: ToolContext<Context>) => unknown) | undefined;
}

const KNOWN = [
  "name",
  "description",
  "input",
  "inputSchema",
  "idempotent",
  "parallelSafe",
  "resource",
  "requiresApproval",
  "retry",
  "reconcile",
  "abandonSeconds",
  "run",
] as const satisfies readonly (keyof ToolOptions)[];

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Makes a tool: something that a model may call.
 *
 * The schema is read once, here, and is frozen: models are shown the schema of the *input*, the body gets the parse's
 * output. Annotating only `ctx: ToolContext<App>` leaves `args` inferred and makes the runner require `context: App`.
 *
 * @throws `CONFIGURATION` for every option that could never work, unknown ones included.
 * @example
 * const search = defineTool({
 *   name: "search",
 *   description: "Look a place up.",
 *   input: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
 *   idempotent: true,
 *   run: async ({ q }) => lookUp(q),
 * });
 */
export function defineTool<const Input extends InputSchema, Context = unknown>(
  options: ToolOptions<Input, Context>,
): Tool<ArgsOf<Input>, Context> {
  return readable("tool", () => toolOf<Input, Context>(checkOptions("tool", options, KNOWN)));
}

function toolOf<Input extends InputSchema, Context>(given: Given): Tool<ArgsOf<Input>, Context> {
  const { name, description, resource, run, reconcile } = given;
  if (typeof name !== "string" || !NAME.test(name)) refuse("tool.name", `a name like ${NAME.source}`, name);
  const at = `tool ${JSON.stringify(name)}`;
  if (typeof description !== "string") refuse(`${at}.description`, "a string", description);
  if (resource !== undefined && (typeof resource !== "string" || resource === "")) {
    refuse(`${at}.resource`, "a string that is not empty", resource);
  }
  checkFunction(`${at}.run`, run);
  checkFunction(`${at}.reconcile`, reconcile);
  const idempotent = flag(`${at}.idempotent`, given.idempotent, false);
  const retry = given.retry === undefined ? undefined : checkRetry(`${at}.retry`, given.retry);
  if (retry !== undefined && !idempotent) {
    throw new ConfigurationError(
      `${at}.retry: expected idempotent: true beside it, got ${String(given.idempotent)}; a failed call may have landed`,
    );
  }
  const abandonSeconds = given.abandonSeconds;
  if (abandonSeconds !== undefined) checkSeconds(`${at}.abandonSeconds`, abandonSeconds);
  const { inputSchema, validate } = toolInput<ArgsOf<Input>>(at, given.input, given.inputSchema);
  return Object.freeze({
    name,
    description,
    inputSchema,
    idempotent,
    parallelSafe: flagOrFunction(`${at}.parallelSafe`, given.parallelSafe, true) as Tool<ArgsOf<Input>>["parallelSafe"],
    ...(resource === undefined ? {} : { resource }),
    requiresApproval: flagOrFunction(`${at}.requiresApproval`, given.requiresApproval, false) as Tool<
      ArgsOf<Input>,
      Context
    >["requiresApproval"],
    ...(retry === undefined ? {} : { retry }),
    ...(reconcile === undefined ? {} : { reconcile: reconcile as Reconcile<ArgsOf<Input>, Context> }),
    ...(abandonSeconds === undefined ? {} : { abandonSeconds: abandonSeconds as number }),
    ...(run === undefined ? {} : { run: run as NonNullable<Tool<ArgsOf<Input>, Context>["run"]> }),
    validate,
  });
}

type Given = { [Key in (typeof KNOWN)[number]]?: unknown };

function flag(path: string, value: unknown, otherwise: boolean): boolean {
  if (value === undefined) return otherwise;
  if (typeof value !== "boolean") refuse(path, "true or false", value);
  return value;
}

function flagOrFunction(path: string, value: unknown, otherwise: boolean): unknown {
  if (value === undefined || typeof value === "function") return value ?? otherwise;
  if (typeof value !== "boolean") refuse(path, "true, false or a function", value);
  return value;
}
