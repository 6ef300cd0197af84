import {
  type BatchOptions,
  type ConcurrencyOptions,
  defineTool,
  Lanes,
  type LanesOptions,
  type RunEvent,
  runBatch,
  type Tool,
  type ToolCall,
  type ToolContext,
  type ToolOptions,
  type ToolResult,
} from "lanekeeper";
import { FakeClock, Gate, leakCheck, Witness } from "lanekeeper/testing";

type More = Partial<Omit<ToolOptions, "name" | "description" | "input">>;

/** A batch under way, and what was told of it so far. */
export interface Running {
  readonly results: Promise<ToolResult[]>;
  /** In live order. */
  readonly events: RunEvent[];
  readonly controller: AbortController;
}

/** Lanes, a clock moved by hand, and tools whose bodies wait at a gate until the test lets them go. */
export class BatchWorld {
  readonly clock: FakeClock = new FakeClock({ traceTimers: true });
  readonly gate: Gate<unknown> = new Gate<unknown>();
  readonly witness: Witness = new Witness();
  /** The context of each body that started, by call id; of a later attempt the later. */
  readonly contexts: Map<string, ToolContext> = new Map();
  readonly lanes: Lanes;

  constructor(concurrency: ConcurrencyOptions = {}, shared: Pick<LanesOptions, "store"> = {}) {
    this.lanes = new Lanes(concurrency, { clock: this.clock, ...shared });
  }

  /** A tool whose bodies wait under their call's id, and listen to no signal. */
  deaf(name: string, more: More = {}): Tool {
    return this.#tool(name, more, (ctx) => this.gate.wait(ctx.callId));
  }

  /** A tool whose bodies wait under their call's id, and end when their signal aborts. */
  listening(name: string, more: More = {}): Tool {
    return this.#tool(name, more, (ctx) => this.gate.wait(ctx.callId, { signal: ctx.signal }));
  }

  /** Starts a batch of calls like `"a:read b:write"`, and gives it all the time that it needs to come to rest. */
  async start(
    calls: string | readonly ToolCall[],
    options: Omit<BatchOptions, "lanes" | "clock">,
    controller: AbortController = new AbortController(),
  ): Promise<Running> {
    const events: RunEvent[] = [];
    const { lanes, clock } = this;
    const results = runBatch(typeof calls === "string" ? callsOf(calls) : calls, {
      runId: "run",
      lanes,
      clock,
      signal: controller.signal,
      ...options,
      onEvent: (event) => {
        events.push(event);
        return options.onEvent?.(event);
      },
    });
    results.catch(() => {});
    await clock.settle();
    return { results, events, controller };
  }

  /** Lets bodies go, each with its call's id as what it returns, and the batch come to rest after each. */
  async open(...ids: string[]): Promise<void> {
    for (const id of ids) {
      this.gate.open(id, id);
      await this.clock.settle();
    }
  }

  /** What a batch gave, when it needs no more than has happened. */
  finished({ results }: Running): Promise<ToolResult[]> {
    return this.clock.promptly(results);
  }

  /** Checks that nothing is left: no place, no timer, no listener on `signals`, no rejection, no warning. */
  leaks(signals: readonly AbortSignal[] = []): { done(): Promise<void> } {
    return leakCheck(this.lanes, { clock: this.clock, signals });
  }

  #tool(name: string, more: More, wait: (ctx: ToolContext) => Promise<unknown>): Tool {
    const run = (_args: unknown, ctx: ToolContext): Promise<unknown> => {
      this.contexts.set(ctx.callId, ctx);
      return this.witness.body(ctx.callId, () => wait(ctx));
    };
    return tool(name, { run, ...more });
  }
}

/** A tool that takes any object. */
export function tool(name: string, more: More = {}): Tool {
  return defineTool({ name, description: name, input: { type: "object" }, ...more }) as Tool;
}

/** `"a:read b:write"`: two calls, by id and tool. */
export function callsOf(text: string): ToolCall[] {
  return text.split(" ").map((word) => {
    const [id, name] = word.split(":") as [string, string];
    return { id, name, args: {} };
  });
}

/** Each result in one line, with `(may have landed)` behind it where that is said. */
export function lines(results: readonly ToolResult[]): string[] {
  return results.map(
    ({ callId, status, content, mayHaveLanded }) =>
      `${callId} ${status}: ${content}${mayHaveLanded ? " (may have landed)" : ""}`,
  );
}

/** What was told of calls, as `"kind id"`: of these kinds, or of all. */
export function told({ events }: Pick<Running, "events">, ...kinds: RunEvent["kind"][]): string[] {
  return events.flatMap((event) =>
    "callId" in event && (kinds.length === 0 || kinds.includes(event.kind)) ? [`${event.kind} ${event.callId}`] : [],
  );
}
