import { dereference, type OutputUnit, type Schema, type SchemaDraft, validate } from "@cfworker/json-schema";
import { describeThrown } from "../base/describe-thrown.ts";
import { ConfigurationError } from "../base/errors.ts";
import { isInstance } from "../base/is-instance.ts";
import { type Json, plainJson } from "../base/plain-json.ts";
import type { JsonSchema } from "../protocol/json-schema.ts";
import { checkJsonSchema, type SchemaPart } from "./json-schema-shape.ts";
import type { InputCheck, InputProblem } from "./tool.ts";
import { valuePath } from "./value-path.ts";

/** By the end of `$schema`; anything else is read as draft 2020-12. */
const DRAFTS: readonly (readonly [RegExp, SchemaDraft])[] = [
  [/draft-04\/schema#?$/, "4"],
  [/draft-0[67]\/schema#?$/, "7"],
  [/2019-09\/schema#?$/, "2019-09"],
];

/** Errors that only say that there is an error further in. */
const WRAPPING: ReadonlySet<string> = new Set([
  "$ref",
  "allOf",
  "additionalItems",
  "additionalProperties",
  "dependentSchemas",
  "if",
  "items",
  "patternProperties",
  "prefixItems",
  "properties",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

const MOST_PROBLEMS = 1_000;

/**
 * A validator of plain JSON Schema: coerces nothing, fills in nothing, and finds everything that is wrong. `format` is
 * checked where the format is known. The arguments are the input itself.
 *
 * @throws `CONFIGURATION` for a schema that is malformed, refers to what is not in it, or would go round for ever.
 */
export function jsonSchemaValidator(at: string, schema: JsonSchema): (input: unknown) => InputCheck {
  // The library marks the schemas it reads, and what models are shown is frozen.
  const own = plainJson(schema) as Schema;
  const parts = checkJsonSchema(at, own as JsonSchema);
  const known = resolve(at, own);
  checkReferences(parts, known);
  const draft = DRAFTS.find(([mark]) => typeof own.$schema === "string" && mark.test(own.$schema))?.[1] ?? "2020-12";
  return (input) => {
    const problems = check(input, own, draft, known);
    return problems.length === 0 ? { ok: true, args: input } : { ok: false, problems };
  };
}

type Known = Record<string, Schema | boolean>;

function resolve(at: string, schema: Schema): Known {
  try {
    return dereference(schema);
  } catch (error) {
    throw new ConfigurationError(`${at}: expected a schema that can be resolved, got ${describeThrown(error)}`, {
      cause: error,
    });
  }
}

/** Each reference leads somewhere, to something well made, and following them alone comes to an end. */
function checkReferences(parts: readonly SchemaPart[], known: Known): void {
  const places = new Map(parts.map(({ path, schema }) => [schema as object, path]));
  // A map that grows while it is walked: targets under unknown keywords are checked when a reference leads there.
  for (const [schema, path] of places) {
    const { $ref } = schema as Schema;
    if ($ref === undefined) continue;
    const target = targetOf(schema as Schema, known);
    if (target === undefined) {
      throw new ConfigurationError(
        `${path}.$ref: expected a schema in this one, got ${JSON.stringify($ref)}, which is not there`,
      );
    }
    if (typeof target === "object" && !places.has(target)) {
      for (const part of checkJsonSchema(`${path}.$ref`, target as JsonSchema)) places.set(part.schema, part.path);
    }
  }
  const done = new Set<object>();
  for (const [schema, path] of places) checkEnds(schema as Schema, path, known, new Set(), done);
}

function targetOf(schema: Schema, known: Known): Schema | boolean | undefined {
  return schema.__absolute_ref__ === undefined ? undefined : known[schema.__absolute_ref__];
}

/** Goes only through keywords that look at the same value again: a circle of those would never come to an end. */
function checkEnds(schema: Schema, path: string, known: Known, above: Set<object>, done: Set<object>): void {
  if (done.has(schema)) return;
  if (above.has(schema)) throw new ConfigurationError(`${path}: expected references that end, got a circle`);
  above.add(schema);
  const {
    allOf = [],
    anyOf = [],
    oneOf = [],
    not,
    if: condition,
    then,
    else: otherwise,
    dependentSchemas = {},
  } = schema;
  const beside = [...allOf, ...anyOf, ...oneOf, ...Object.values(dependentSchemas), not, condition, then, otherwise];
  for (const next of [targetOf(schema, known), ...beside] as unknown[]) {
    if (typeof next === "object" && next !== null) checkEnds(next as Schema, path, known, above, done);
  }
  above.delete(schema);
  done.add(schema);
}

function check(input: unknown, schema: Schema, draft: SchemaDraft, known: Known): InputProblem[] {
  let errors: OutputUnit[];
  try {
    errors = validate(input, schema, draft, known, false).errors;
  } catch (error) {
    // Ten thousands of errors do not fit the library's stack; the first is then enough.
    if (!isInstance(error, RangeError)) throw error;
    errors = validate(input, schema, draft, known, true).errors;
  }
  const telling = errors.filter(({ keyword }) => !WRAPPING.has(keyword));
  return (telling.length > 0 ? telling : errors)
    .slice(0, MOST_PROBLEMS)
    .map((error) => problemOf(error, input as Json));
}

const MISSING = /^Instance does not have required property "(.*)"\.$/s;

function problemOf({ keyword, instanceLocation, error }: OutputUnit, input: Json): InputProblem {
  const steps = stepsOf(instanceLocation, input);
  if (keyword === "false") return { path: valuePath(steps), message: "not allowed here" };
  const missing = keyword === "required" ? MISSING.exec(error)?.[1] : undefined;
  if (missing !== undefined) return { path: valuePath([...steps, missing]), message: "required, and missing" };
  return { path: valuePath(steps), message: error };
}

/** The library's pointer `#/stops/0/city` as steps; a number where an array stands. */
function stepsOf(pointer: string, input: Json): PropertyKey[] {
  const steps: PropertyKey[] = [];
  let at: unknown = input;
  for (const coded of pointer.split("/").slice(1)) {
    const step = decodeURIComponent(coded).replaceAll("~1", "/").replaceAll("~0", "~");
    steps.push(Array.isArray(at) ? Number(step) : step);
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[step] : undefined;
  }
  return steps;
}
