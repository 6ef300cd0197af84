import { ConfigurationError } from "../base/errors.ts";
import { refuse } from "../base/option-checks.ts";
import { showValue } from "../base/show-value.ts";
import type { JsonSchema } from "../protocol/json-schema.ts";

/** A schema and where it stands. */
export interface SchemaPart {
  readonly path: string;
  readonly schema: JsonSchema;
}

/**
 * Checks that a JSON Schema says what its writer thinks it says: a misspelt type or a `required` that is no list is a
 * mistake to hear of at once, not with the first call. Returns the schema and all schemas in it; unknown keywords are
 * not looked into.
 *
 * @throws `CONFIGURATION` naming the place.
 */
export function checkJsonSchema(path: string, schema: JsonSchema): SchemaPart[] {
  const parts: SchemaPart[] = [];
  aSchema(path, schema, parts);
  return parts;
}

/** Checks what stands under a keyword, and adds the schemas in it to `parts`. */
type Check = (path: string, value: unknown, parts: SchemaPart[]) => void;

const aSchema: Check = (path, value, parts) => {
  if (typeof value === "boolean") return;
  const schema = membersOf(path, value, "a schema");
  parts.push({ path, schema });
  for (const [keyword, member] of Object.entries(schema)) {
    KEYWORDS.get(keyword)?.(`${path}.${keyword}`, member, parts);
  }
};

const schemas: Check = (path, value, parts) => {
  if (!Array.isArray(value)) refuse(path, "an array of schemas", value);
  value.forEach((part, index) => {
    aSchema(`${path}[${index}]`, part, parts);
  });
};

/** `items`: a list in the drafts before 2020-12. */
const oneOrMore: Check = (path, value, parts) => (Array.isArray(value) ? schemas : aSchema)(path, value, parts);

const each =
  (check: Check): Check =>
  (path, value, parts) => {
    for (const [name, member] of Object.entries(membersOf(path, value, "an object"))) {
      check(`${path}.${name}`, member, parts);
    }
  };

const byPattern: Check = (path, value, parts) => {
  for (const source of Object.keys(membersOf(path, value, "an object"))) pattern(path, source, parts);
  each(aSchema)(path, value, parts);
};

const simple =
  (expected: string, fits: (value: unknown) => boolean): Check =>
  (path, value) => {
    if (!fits(value)) refuse(path, expected, value);
  };

const text = simple("a string", (value) => typeof value === "string");
const number = simple("a number", (value) => typeof value === "number");
const count = simple("an integer, 0 or more", (value) => Number.isInteger(value) && (value as number) >= 0);
const names = simple(
  "an array of strings",
  (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
);
/** A boolean in draft 4. */
const exclusive = simple("a number", (value) => typeof value === "number" || typeof value === "boolean");

const pattern: Check = (path, value) => {
  try {
    new RegExp(value as string, "u");
  } catch {
    refuse(path, "a regular expression that works with the u flag", value);
  }
  if (typeof value !== "string") refuse(path, "a regular expression as text", value);
};

const TYPES: readonly unknown[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

const type: Check = (path, value) => {
  const types: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (types.length > 0 && types.every((name) => TYPES.includes(name))) return;
  throw new ConfigurationError(
    `${path}: expected one of ${TYPES.join(", ")}, or a list of them, got ${types.map(showValue).join(", ")}`,
  );
};

/** A keyword that would silently check nothing here. */
const unsupported: Check = (path) => {
  throw new ConfigurationError(`${path}: not supported; use $ref`);
};

const KEYWORDS: ReadonlyMap<string, Check> = new Map(
  Object.entries({
    type,
    properties: each(aSchema),
    patternProperties: byPattern,
    $defs: each(aSchema),
    definitions: each(aSchema),
    dependentSchemas: each(aSchema),
    dependencies: each((path, value, parts) => (Array.isArray(value) ? names : aSchema)(path, value, parts)),
    required: names,
    dependentRequired: each(names),
    items: oneOrMore,
    prefixItems: schemas,
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    additionalProperties: aSchema,
    unevaluatedProperties: aSchema,
    propertyNames: aSchema,
    additionalItems: aSchema,
    unevaluatedItems: aSchema,
    contains: aSchema,
    not: aSchema,
    if: aSchema,
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: aSchema,
    else: aSchema,
    enum: simple("an array", Array.isArray),
    pattern,
    format: text,
    $ref: text,
    $id: text,
    $anchor: text,
    $schema: text,
    $dynamicRef: unsupported,
    $recursiveRef: unsupported,
    minLength: count,
    maxLength: count,
    minItems: count,
    maxItems: count,
    minContains: count,
    maxContains: count,
    minProperties: count,
    maxProperties: count,
    minimum: number,
    maximum: number,
    exclusiveMinimum: exclusive,
    exclusiveMaximum: exclusive,
    multipleOf: simple("a number above 0", (value) => typeof value === "number" && value > 0),
    uniqueItems: simple("true or false", (value) => typeof value === "boolean"),
  } satisfies Record<string, Check>),
);

function membersOf(path: string, value: unknown, expected: string): { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) refuse(path, expected, value);
  return value as { [name: string]: unknown };
}
