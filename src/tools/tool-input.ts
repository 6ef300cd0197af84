import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { describeThrown } from "../base/describe-thrown.ts";
import { ConfigurationError } from "../base/errors.ts";
import { isInstance } from "../base/is-instance.ts";
import { refuse } from "../base/option-checks.ts";
import { freezeJson, type Json, PlainJsonError, plainJson } from "../base/plain-json.ts";
import type { JsonSchema } from "../protocol/json-schema.ts";
import { jsonSchemaValidator } from "./json-schema-check.ts";
import { checkJsonSchema } from "./json-schema-shape.ts";
import type { InputCheck, InputProblem, Tool } from "./tool.ts";
import { valuePath } from "./value-path.ts";

/** What a tool's `input` comes to: what models are shown, and what parses a call's arguments. */
export type ToolInput<Args> = Pick<Tool<Args>, "inputSchema" | "validate">;

type Validate = (input: unknown) => InputCheck | Promise<InputCheck>;

/** More problems than this help nobody. */
const MOST_PROBLEMS = 1_000;

/** The dialect that models are shown. */
const DIALECT: StandardJSONSchemaV1.Options = { target: "draft-2020-12" };

/**
 * Reads a tool's `input` and `inputSchema` options, once: the schema shown is the override, else the input's own.
 *
 * @throws `CONFIGURATION` for a schema that is malformed, is no object schema, or cannot give JSON Schema.
 */
export function toolInput<Args>(at: string, input: unknown, override: unknown): ToolInput<Args> {
  const overriding = override === undefined ? undefined : objectSchema(`${at}.inputSchema`, override);
  if (overriding !== undefined) checkJsonSchema(`${at}.inputSchema`, overriding);
  const { schema, validate } = checkedSchema(`${at}.input`, input, { overriding, instead: "or give inputSchema" });
  return { inputSchema: schema, validate };
}

/** A schema as models are shown it, and what checks a value against it. */
export interface CheckedSchema {
  readonly schema: JsonSchema;
  readonly validate: Validate;
}

/**
 * Reads a schema, once. `overriding` is shown instead of its own; `instead` says what may be given when it has none.
 *
 * @throws `CONFIGURATION` for a schema that is malformed, is no object schema, or cannot give JSON Schema.
 */
export function checkedSchema(
  path: string,
  input: unknown,
  { overriding, instead }: { overriding?: JsonSchema | undefined; instead: string },
): CheckedSchema {
  const standard = standardOf(path, input);
  if (standard !== undefined) {
    const shown = overriding ?? objectSchema(path, givenSchema(path, standard, instead));
    return { schema: freezeJson(shown), validate: onCopies(byStandard(standard)) };
  }
  const schema = objectSchema(path, input);
  return { schema: freezeJson(overriding ?? schema), validate: onCopies(jsonSchemaValidator(path, schema)) };
}

/** The Standard Schema side of an input; libraries put it on objects and on functions. */
function standardOf(at: string, input: unknown): StandardSchemaV1.Props | undefined {
  if ((typeof input !== "object" && typeof input !== "function") || input === null || !("~standard" in input)) {
    return undefined;
  }
  const standard = input["~standard"] as Partial<StandardSchemaV1.Props> | null | undefined;
  if (standard?.version !== 1 || typeof standard.validate !== "function") {
    throw new ConfigurationError(`${at}: expected a Standard Schema of version 1, got another`);
  }
  return standard as StandardSchemaV1.Props;
}

/** The JSON Schema that a Standard Schema gives of its input. */
function givenSchema(path: string, standard: StandardSchemaV1.Props, instead: string): unknown {
  const give = (standard as Partial<StandardJSONSchemaV1.Props>).jsonSchema?.input;
  if (typeof give !== "function") {
    const way =
      standard.vendor === "valibot"
        ? `wrap it with toStandardJsonSchema of @valibot/to-json-schema, ${instead}`
        : `update the library, ${instead}`;
    throw new ConfigurationError(
      `${path}: expected a schema that gives JSON Schema, got one of ${String(standard.vendor)} that does not; ${way}`,
    );
  }
  try {
    return give(DIALECT);
  } catch (error) {
    throw new ConfigurationError(
      `${path}: expected a schema that gives JSON Schema, got one that does not (${describeThrown(error)}); ${instead}`,
      { cause: error },
    );
  }
}

/** A plain-JSON copy of an object schema: nothing that happens to the developer's own changes what models are shown. */
function objectSchema(at: string, schema: unknown): JsonSchema {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    refuse(at, 'a Standard Schema, or a JSON Schema with type: "object"', schema);
  }
  const copy = readSchema(at, schema);
  if (copy.type !== "object") refuse(`${at}.type`, '"object", as vendors demand of a tool\'s input', copy.type);
  return copy;
}

function readSchema(at: string, schema: object): { [keyword: string]: Json } {
  try {
    const copy = plainJson(schema);
    if (typeof copy === "object" && copy !== null && !Array.isArray(copy)) return copy;
  } catch (error) {
    if (!isInstance(error, PlainJsonError)) throw error;
    throw new ConfigurationError(`${at}: expected plain JSON, got a value that is not: ${error.message}`, {
      cause: error,
    });
  }
  return refuse(at, "a JSON Schema", schema);
}

/** Validators get a copy of their own: some change what they are given, or hand it on to the body (`Semantics 2.12`). */
function onCopies(validate: Validate): Validate {
  return (input) => {
    try {
      const checked = validate(plainJson(input));
      return isInstance(checked, Promise) ? checked.catch(thrownBySchema) : checked;
    } catch (error) {
      return thrownBySchema(error);
    }
  };
}

function thrownBySchema(error: unknown): InputCheck {
  const message = isInstance(error, PlainJsonError)
    ? error.message
    : `the schema could not be applied: ${describeThrown(error)}`;
  return { ok: false, problems: [{ path: "", message }] };
}

function byStandard(standard: StandardSchemaV1.Props): Validate {
  return (input) => {
    const result = standard.validate(input);
    // Not `instanceof`: the promise may be of another realm or library.
    return typeof (result as { then?: unknown }).then === "function"
      ? Promise.resolve(result).then(readResult)
      : readResult(result as StandardSchemaV1.Result<unknown>);
  };
}

function readResult(result: StandardSchemaV1.Result<unknown>): InputCheck {
  if (result.issues === undefined) return { ok: true, args: result.value };
  const problems = result.issues.slice(0, MOST_PROBLEMS).map(readIssue);
  return { ok: false, problems: problems.length > 0 ? problems : [{ path: "", message: "does not fit the schema" }] };
}

function readIssue({ message, path = [] }: StandardSchemaV1.Issue): InputProblem {
  const steps = Array.from(path, (step) => (typeof step === "object" ? step.key : step));
  return { path: valuePath(steps), message: String(message) };
}
