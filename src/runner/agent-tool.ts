import { InternalError } from "../base/errors.ts";
import { hush } from "../base/hush.ts";
import { checkFunction, checkOptions, refuse } from "../base/option-checks.ts";
import { isContinued, markContinued, WaitsBelow } from "../batch/continued-tools.ts";
import { currentAttempt } from "../batch/current-call.ts";
import type { Message } from "../protocol/message.ts";
import { type ArgsOf, defineTool, type InputSchema, type ToolOptions } from "../tools/define-tool.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolFailedError } from "../tools/tool-errors.ts";
import { Agent } from "./agent.ts";

/** What {@link agentTool} takes beside the agent. */
export interface AgentToolOptions<Input extends InputSchema>
  extends Pick<ToolOptions<Input>, "inputSchema" | "idempotent" | "parallelSafe" | "resource" | "abandonSeconds"> {
  /** Default: the agent's, which must then be a tool's name. */
  name?: string | undefined;
  /** What the calling model is told. */
  description: string;
  /** The arguments. Default: one text, `input`. */
  input?: Input | undefined;
  /** What the agent is asked. Needed beside `input`; default: the text `input`. */
  toInput?: ((args: ArgsOf<Input>) => string | readonly Message[]) | undefined;
}

const TEXT = {
  type: "object",
  properties: { input: { type: "string", description: "What to ask." } },
  required: ["input"],
} as const;

const KNOWN = [
  "name",
  "description",
  "input",
  "inputSchema",
  "toInput",
  "idempotent",
  "parallelSafe",
  "resource",
  "abandonSeconds",
] as const satisfies readonly (keyof AgentToolOptions<InputSchema>)[];

/**
 * An agent as a tool: each call runs it below the calling run, in the places of the call (`Semantics 4.6`).
 *
 * Its output is the call's result. A run that fails or is cancelled fails the call, with the run's error as `cause`. One
 * that waits for somebody suspends the calling run, and is what a resume goes on with (`Semantics 3.7`).
 *
 * @throws ConfigurationError (`CONFIGURATION`) for every option that could never work.
 * @example
 * const research = agentTool(researcher, { name: "research", description: "Find out about a place." });
 */
export function agentTool<Output, Context = unknown, const Input extends InputSchema = typeof TEXT>(
  agent: Agent<Output, Context>,
  options: AgentToolOptions<Input>,
): Tool<ArgsOf<Input>, Context> {
  if (!(agent instanceof Agent)) refuse("agentTool agent", "an Agent", agent);
  checkOptions("agentTool", options, KNOWN);
  const { name = agent.name, input, toInput, ...declared } = options;
  checkFunction("agentTool.toInput", toInput);
  if (input !== undefined && toInput === undefined) refuse("agentTool.toInput", "a function beside `input`", toInput);
  const ask = toInput ?? ((args: ArgsOf<Input>) => (args as { input: string }).input);
  const tool = defineTool<Input, Context>({
    ...declared,
    name,
    input: input ?? (TEXT as unknown as Input),
    run: async (args: ArgsOf<Input>) => {
      // Not `ctx.run`: this run is continued when it was suspended, and its call waits with it.
      const call = currentAttempt();
      if (call === undefined) throw new InternalError("an agentTool was run outside of a call");
      // In another tool's body, that is what runs again: a run below it cannot be gone on with.
      const isOwn = call.call.tool !== undefined && isContinued(call.call.tool);
      const asked: unknown = ask(args);
      hush(asked);
      const run = await call.startNested(agent, asked as string, {}, isOwn);
      if (run.status === "completed") return run.output;
      if (run.status === "suspended") {
        if (isOwn) throw new WaitsBelow(run.pending);
        const expected =
          "expected an answer, got a run that waits for somebody; call the agentTool itself, so that it can wait";
        throw new ToolFailedError(`agent ${JSON.stringify(agent.name)}: ${expected}`);
      }
      // What a call below may have done, this one may have done (`Semantics 7.3`).
      const mayHaveLanded = run.results.some((result) => result.mayHaveLanded);
      throw mayHaveLanded ? new ToolFailedError(run.error.message, { mayHaveLanded, cause: run.error }) : run.error;
    },
  });
  return markContinued(tool);
}
