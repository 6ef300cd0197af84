import { describeThrown } from "../base/describe-thrown.ts";
import type { InputProblem } from "../tools/tool.ts";
import type { CheckedSchema } from "../tools/tool-input.ts";

/** What a model's last answer came to. */
export type ReadOutput = { readonly output: unknown } | { readonly problems: readonly InputProblem[] };

/**
 * The output in a model's last answer: its text, or the JSON in it that fits the agent's schema.
 *
 * Text that is not JSON is a problem and never guessed at. Never rejects.
 */
export async function readOutput(form: CheckedSchema | undefined, text: string): Promise<ReadOutput> {
  if (form === undefined) return { output: text };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The host's own words differ between versions, and the transcript must not.
    return { problems: [{ path: "", message: "expected JSON, got text that is not" }] };
  }
  try {
    const checked = await form.validate(json);
    return checked.ok ? { output: checked.args } : { problems: checked.problems };
  } catch (threw) {
    return { problems: [{ path: "", message: `the schema could not be applied: ${describeThrown(threw)}` }] };
  }
}

/** Tells the model what was wrong with its answer, once. */
export function askForRepair(problems: readonly InputProblem[]): string {
  const told = problems
    .slice(0, MOST_TOLD)
    .map(({ path, message }) => `- ${path === "" ? message : `${path}: ${message}`}`);
  const more = problems.length > MOST_TOLD ? [`- and ${problems.length - MOST_TOLD} more`] : [];
  return [
    "Your answer does not fit the schema that it was asked for in:",
    ...told,
    ...more,
    "Answer again, with nothing but JSON that fits the schema.",
  ].join("\n");
}

const MOST_TOLD = 20;
