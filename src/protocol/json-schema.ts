/** A JSON Schema document. Data: nothing here reads it. */
export type JsonSchema = { readonly [keyword: string]: unknown };
