import { refuse } from "../base/option-checks.ts";
import type { ModelProvider } from "../protocol/model.ts";

/** @throws ConfigurationError (`CONFIGURATION`) for anything that cannot be asked; `undefined` may be left out. */
export function checkProvider(path: string, provider: unknown): ModelProvider | undefined {
  if (provider === undefined) return undefined;
  const { name, generate, stream } = (typeof provider === "object" && provider !== null ? provider : {}) as Partial<
    Record<keyof ModelProvider, unknown>
  >;
  const streams = stream === undefined || typeof stream === "function";
  if (typeof name !== "string" || typeof generate !== "function" || !streams) {
    refuse(path, "a ModelProvider: { name, generate, stream? }", provider);
  }
  return provider as ModelProvider;
}
