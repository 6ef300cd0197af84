/** One world at work, driven by hand: nothing moves in it but by {@link Play.make}. */
import {
  Agent,
  AgentRunner,
  agentTool,
  type ConcurrencyOptions,
  defineTool,
  type ModelCall,
  type ModelDelta,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  type OnToolError,
  type Run,
  type RunEvent,
  type Tool,
  type ToolContext,
} from "lanekeeper";
import {
  calls,
  checkRequest,
  FakeClock,
  Gate,
  type LeakCheck,
  leakCheck,
  SequentialIds,
  say,
} from "lanekeeper/testing";
import { type CallSpec, everyCall, type World } from "./batch-worlds.ts";

export const CEILING_SECONDS = 10;
export const DEADLINE_SECONDS = 20;
export const ABANDON_SECONDS = 5;

/** What happens next: a body ends, the run is cancelled, time passes to a ceiling or deadline, to the end of patience
 * with deaf bodies, or the model streams on. */
export type Move = `open ${string}` | "cancel" | "time" | "patience" | "stream";

/** What was seen from inside the bodies, in the order in which it was. */
export interface Fact {
  readonly kind: "starts" | "ends";
  readonly key: string;
}

/** The tool of a call: calls of one kind share it; one whose ceiling falls has a tool of its own. */
function toolNameOf({ kind, isSafe, isIdempotent }: CallSpec, hasCeiling: boolean): string {
  return `${kind}${isSafe ? "" : "_alone"}${isIdempotent ? "_again" : ""}${hasCeiling ? "_timed" : ""}`;
}

export class Play {
  readonly world: World;
  readonly facts: Fact[] = [];
  /** In live order. */
  readonly live: RunEvent[] = [];
  readonly signals: Map<string, AbortSignal> = new Map();
  /** Whose signal had aborted when the cancel returned. */
  abortedAtOnce: Set<string> = new Set();
  /** What a strict vendor would have refused. */
  readonly refused: string[] = [];
  run: Run | undefined;
  readonly #specs: ReadonlyMap<string, CallSpec>;
  readonly #clock = new FakeClock();
  readonly #gate = new Gate<string>();
  readonly #stream = new Gate();
  readonly #controller = new AbortController();
  readonly #leaks: LeakCheck;

  constructor(world: World) {
    this.world = world;
    const specs = everyCall(world.calls);
    this.#specs = new Map(specs.map((spec) => [spec.key, spec]));
    const { disturbance, dispatch } = world;
    const tools = new Map(specs.map((spec) => [this.toolOf(spec), spec]));
    const { kind } = disturbance;
    const runner = new AgentRunner({
      provider: this.#model(),
      tools: Array.from(tools, ([name, spec]) => toolFor(name, spec, this.policy)),
      concurrency: { ...BOUNDS[world.bounds], perToolSeconds: this.#ceilings(), abandonSeconds: ABANDON_SECONDS },
      deadlines: kind === "runSeconds" || kind === "toolCallSeconds" ? { [kind]: DEADLINE_SECONDS } : {},
      dispatch: dispatch === "after_gates" ? dispatch : "eager",
      clock: this.#clock,
      ids: new SequentialIds(),
      onEvent: (event) => void this.live.push(event),
    });
    const { signal } = this.#controller;
    this.#leaks = leakCheck(runner, { clock: this.#clock, signal });
    void runner.run(AGENTS.outer[this.policy], "Go.", { signal, context: this }).then((run) => {
      this.run = run;
    });
  }

  get policy(): OnToolError {
    const { disturbance } = this.world;
    return "policy" in disturbance ? disturbance.policy : "surface_to_model";
  }

  /** Leaves whose bodies wait to be let go. */
  get waiting(): string[] {
    return this.#gate.waiting;
  }

  toolOf(spec: CallSpec): string {
    const { disturbance } = this.world;
    return toolNameOf(spec, disturbance.kind === "ceiling" && disturbance.of === spec.key);
  }

  /** Lets everything run that needs no more time. */
  settle(): Promise<void> {
    return this.#clock.settle();
  }

  async make(move: Move): Promise<void> {
    if (move === "cancel") {
      this.#controller.abort();
      this.abortedAtOnce = new Set(Array.from(this.signals).flatMap(([key, { aborted }]) => (aborted ? key : [])));
    } else if (move === "stream") this.#stream.open("");
    else if (move === "time") {
      await this.#clock.advance(this.world.disturbance.kind === "ceiling" ? CEILING_SECONDS : DEADLINE_SECONDS);
    } else if (move === "patience") await this.#clock.advance(ABANDON_SECONDS);
    else {
      const key = move.slice("open ".length);
      if (this.throws(key)) this.#gate.fail(key, new Error(`broken ${key}`));
      else this.#gate.open(key, `done ${key}`);
    }
    await this.#clock.settle();
  }

  /** Whether the body of this call fails. */
  throws(key: string): boolean {
    const { disturbance } = this.world;
    return disturbance.kind === "throw" && disturbance.of === key;
  }

  /** Throws when a place, a timer, a listener or an unheard rejection is left. */
  async done(): Promise<void> {
    this.#stream.leaveOpen();
    await this.#leaks.done();
  }

  async leaf(key: string, { signal }: ToolContext): Promise<string> {
    this.signals.set(key, signal);
    this.facts.push({ kind: "starts", key });
    const { ears } = this.world;
    const listens = ears === "all" || (ears === "mixed" && [...this.#specs.keys()].indexOf(key) % 2 === 0);
    try {
      return await this.#gate.wait(key, listens ? { signal } : {});
    } finally {
      this.facts.push({ kind: "ends", key });
    }
  }

  async body(key: string, { signal, run }: ToolContext): Promise<string> {
    this.signals.set(key, signal);
    const { status } = await run(AGENTS.inner[this.policy], key);
    if (this.throws(key)) throw new Error(`broken ${key}`);
    return status;
  }

  #ceilings(): Record<string, number> {
    const { disturbance } = this.world;
    const spec = disturbance.kind === "ceiling" ? this.#specs.get(disturbance.of) : undefined;
    return spec === undefined ? {} : { [this.toolOf(spec)]: CEILING_SECONDS };
  }

  #model(): ModelProvider {
    const generate = async (request: ModelRequest, call: ModelCall): Promise<ModelResponse> =>
      this.#answer(request, call);
    if (this.world.dispatch === "after_gates") return { name: "scripted", generate };
    return { name: "scripted", generate, stream: (request, call) => this.#streamed(request, call) };
  }

  #answer(request: ModelRequest, { run: { agent, turn } }: ModelCall): ModelResponse {
    this.refused.push(...checkRequest(request));
    const key = request.messages[0]?.content as string;
    const isOuter = agent === "outer";
    if (turn > 1) return say(isOuter ? "all done" : `answer ${key}`);
    // A nested run asks its model as the first thing that it does.
    if (!isOuter) this.facts.push({ kind: "starts", key });
    const asked = isOuter ? this.world.calls : (this.#specs.get(key)?.below ?? []);
    return calls(...asked.map((spec) => ({ id: spec.key, name: this.toolOf(spec), args: { place: spec.key } })));
  }

  async *#streamed(request: ModelRequest, call: ModelCall): AsyncGenerator<ModelDelta> {
    const isHeld = this.world.dispatch === "held" && call.run.agent === "outer" && call.run.turn === 1;
    const response = this.#answer(request, call);
    for (const [index, { id, name, args }] of response.toolCalls.entries()) {
      if (isHeld) await this.#stream.wait("");
      yield { type: "tool_call_start", index, id, name };
      yield { type: "tool_call_delta", index, argsText: JSON.stringify(args) };
      yield { type: "tool_call_end", index };
    }
    if (isHeld) await this.#stream.wait("");
    yield { type: "end", response };
  }
}

const BOUNDS: Record<World["bounds"], ConcurrencyOptions> = {
  loose: {},
  turn: { maxConcurrentTools: 1 },
  tenant: { perTenant: 1 },
  resource: { perResource: { leaves: 1 } },
};

const agentsNamed = (name: string): Record<OnToolError, Agent> => {
  const made = (onToolError: OnToolError): Agent => new Agent({ name, model: "m", freeText: true, onToolError });
  return { surface_to_model: made("surface_to_model"), fail_run: made("fail_run") };
};
const AGENTS = { outer: agentsNamed("outer"), inner: agentsNamed("inner") };

const INPUT = { type: "object", properties: { place: { type: "string" } }, required: ["place"] } as const;

/** Made once for all worlds: a body finds its own in its context. */
const TOOLS = new Map<string, Tool>();

function toolFor(name: string, { kind, isSafe, isIdempotent }: CallSpec, policy: OnToolError): Tool {
  const known = TOOLS.get(`${name} ${policy}`);
  if (known !== undefined) return known;
  const declared = { name, description: name, input: INPUT, parallelSafe: isSafe, idempotent: isIdempotent } as const;
  const playOf = ({ context }: ToolContext): Play => context as Play;
  const made =
    kind === "agent"
      ? agentTool(AGENTS.inner[policy], { ...declared, toInput: ({ place }) => place })
      : kind === "body"
        ? defineTool({ ...declared, run: ({ place }, ctx: ToolContext) => playOf(ctx).body(place, ctx) })
        : defineTool({
            ...declared,
            resource: "leaves",
            run: ({ place }, ctx: ToolContext) => playOf(ctx).leaf(place, ctx),
          });
  TOOLS.set(`${name} ${policy}`, made as Tool);
  return made as Tool;
}
