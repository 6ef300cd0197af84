/** The property names that a schema requires; none when they are not known by name. */
type RequiredOf<S> = S extends { readonly required: readonly (infer Name)[] }
  ? string extends Name
    ? never
    : Name & string
  : never;

type Flat<T> = { [Key in keyof T]: T[Key] } & {};

type FromProperties<Properties, Required extends string> = Flat<
  {
    -readonly [Name in keyof Properties as Name extends Required ? Name : never]: FromJsonSchema<Properties[Name]>;
  } & {
    -readonly [Name in keyof Properties as Name extends Required ? never : Name]?: FromJsonSchema<Properties[Name]>;
  }
>;

/** With `properties`, further names are not typed: an index signature would have to fit every one of them. */
type FromObject<S> = S extends { readonly properties: infer Properties }
  ? FromProperties<Properties, RequiredOf<S>>
  : S extends { readonly additionalProperties: infer Extra }
    ? Extra extends false
      ? Record<string, never>
      : { [name: string]: Extra extends true ? unknown : FromJsonSchema<Extra> }
    : { [name: string]: unknown };

type FromType<S, Type> = Type extends "string"
  ? string
  : Type extends "number" | "integer"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "null"
        ? null
        : Type extends "array"
          ? S extends { readonly items: infer Items }
            ? FromJsonSchema<Items>[]
            : unknown[]
          : Type extends "object"
            ? FromObject<S>
            : unknown;

/**
 * The type of what a literal JSON Schema lets through: objects, arrays, `enum`, `const`, `anyOf`, `oneOf` and the
 * simple types; `unknown` for anything it cannot tell.
 */
export type FromJsonSchema<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly anyOf: readonly (infer Branch)[] }
      ? FromJsonSchema<Branch>
      : S extends { readonly oneOf: readonly (infer Branch)[] }
        ? FromJsonSchema<Branch>
        : S extends { readonly type: readonly (infer Type)[] }
          ? Type extends unknown
            ? FromType<S, Type>
            : never
          : S extends { readonly type: infer Type }
            ? FromType<S, Type>
            : unknown;
