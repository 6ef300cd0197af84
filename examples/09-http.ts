/**
 * Runs over HTTP, for several tenants, with Hono: events are streamed as they happen, and whoever hangs up cancels.
 *
 * The first part is the server, to be copied. The second plays its clients: two tenants at once, one that hangs up half
 * way, some that are refused, and a SIGTERM while a run is at work.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type ServerType, serve } from "@hono/node-server";
import { Hono } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import { streamSSE } from "hono/streaming";
import { Agent, AgentRunner, defineTool, type RunEvent } from "lanekeeper";
import { calls, Deferred, Gate, ScriptedProvider, type ScriptStep, say, Witness } from "lanekeeper/testing";
import { z } from "zod";
import { check } from "./show/check.js";
import { serverSentEvents } from "./show/server-sent-events.js";

// The server.

/** Who a token belongs to. A run's tenant comes from here, never from what the client says of itself. */
type Caller = { readonly tenant: string } | { readonly isOperator: true };
type CallerOf = (token: string) => Caller | undefined;
type App = Hono<{ Variables: { caller: Caller } }>;

const Asked = z.strictObject({ ask: z.string().trim().min(1).max(2_000) });

function app(runner: AgentRunner, agent: Agent, callerOf: CallerOf): App {
  const app: App = new Hono();
  app.use(
    bearerAuth({
      verifyToken: (token, c) => {
        c.set("caller", callerOf(token));
        return c.get("caller") !== undefined;
      },
    }),
    bodyLimit({ maxSize: 16_384 }),
  );

  app.post("/runs", async (c) => {
    const caller = c.get("caller");
    if (!("tenant" in caller)) return c.json({ error: "a run needs a tenant's token" }, 403);
    const asked = Asked.safeParse(await c.req.json().catch(() => undefined));
    if (!asked.success) {
      const problems = asked.error.issues.map(({ path, message }) => `${["body", ...path].join(".")}: ${message}`);
      return c.json({ error: 'expected JSON like { "ask": "Kyoto, Nara" }', problems }, 400);
    }
    const hungUp = new AbortController();
    const stream = runner.stream(agent, asked.data.ask, { tenant: caller.tenant, signal: hungUp.signal });
    const response = streamSSE(c, async (client) => {
      // The next event may be far away: the signal cancels at once, where leaving the loop would wait for it.
      client.onAbort(() => hungUp.abort());
      for await (const event of stream) {
        const data = toldToClients(event);
        if (data !== undefined) {
          await client.writeSSE({ event: event.kind, id: String(event.seq), data: JSON.stringify(data) });
        }
      }
      const run = await stream.run;
      if (run.status === "failed") console.error({ runId: run.id, tenant: caller.tenant, error: run.error });
      const output = run.status === "completed" ? run.output : undefined;
      await client.writeSSE({ event: "end", data: JSON.stringify({ status: run.status, output }) });
    });
    // A server that closes need not wait for another request on a stream's connection.
    response.headers.set("Connection", "close");
    return response;
  });

  app.get("/lanes", (c) => {
    const caller = c.get("caller");
    if ("isOperator" in caller) return c.json(runner.lanes());
    // Numbers only, of the one lane whose whole name fits: holders and `blockedOn` of shared lanes name other tenants.
    const own = runner.lanes().find(({ lane }) => lane === `tenant:${caller.tenant}`);
    return c.json({ bound: own?.bound ?? null, inFlight: own?.inFlight ?? 0, waiting: own?.waiting ?? 0 });
  });

  app.onError((error, c) => {
    if (error instanceof HTTPException) return error.getResponse();
    console.error(error);
    return c.json({ error: "something went wrong here" }, 500);
  });
  return app;
}

/** What clients see of an event, by name: errors and details may hold what bodies threw, and stay here. */
function toldToClients(event: RunEvent): object | undefined {
  switch (event.kind) {
    case "run_started":
      return { runId: event.runId };
    case "text_delta":
      return { text: event.text };
    case "tool_queued":
    case "tool_dispatched":
    case "tool_result":
    case "tool_error":
    case "tool_indeterminate":
      return { tool: event.tool, callId: event.callId };
    default:
      return undefined;
  }
}

/** Listens on loopback. On SIGTERM nothing new is taken, and what is at work has 10 s to end. */
function listen(runner: AgentRunner, { fetch }: App): ServerType {
  const server = serve({ fetch, hostname: "127.0.0.1", port: 0 });
  process.once("SIGTERM", () => {
    server.close();
    void runner.close({ drainSeconds: 10 });
  });
  return server;
}

// What it serves: an agent that looks up every place it is asked about, two at a time for each tenant.

const witness = new Witness();
/** Searches end when the play says so, or when they are told to stop. */
const gate = new Gate();
const search = defineTool({
  name: "search",
  description: "Looks a place up.",
  input: z.object({ place: z.string() }),
  idempotent: true,
  run: ({ place }, { tenant, signal }) =>
    witness.body(tenant, async () => {
      await gate.wait(tenant, { signal });
      return `${place}: four rooms free`;
    }),
});
/** The model asks for a search of each place, and sums up once it has the results. */
const answer: ScriptStep = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === "tool") return say("There are rooms in all of them.");
  return calls(
    ...String(last?.content)
      .split(", ")
      .map((place) => ({ search: { place } })),
  );
};
const provider = new ScriptedProvider(answer, answer, answer, answer, answer);
/** How the first run ended that did not complete. */
const ended = new Deferred<string>();
const runner = new AgentRunner({
  provider,
  tools: [search],
  concurrency: { perTenant: 2, perTool: { search: 8 } },
  deadlines: { runSeconds: 60 },
  onEvent: ({ kind }) => {
    if (kind === "run_cancelled" || kind === "run_failed") ended.resolve(kind);
  },
});
const planner = new Agent({ name: "planner", model: "scripted", freeText: true });

const tenants = ["acme", "globex", "initech"];
const callers = new Map<string, Caller>(tenants.map((tenant) => [`token-of-${tenant}`, { tenant }]));
callers.set("token-of-operator", { isOperator: true });
const server = listen(
  runner,
  app(runner, planner, (token) => callers.get(token)),
);
await once(server, "listening");
const { port } = server.address() as AddressInfo;

// The clients.

function request(who: string, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers: { authorization: `Bearer token-of-${who}` } });
}

async function lanes(who: string): Promise<string> {
  return (await request(who, "/lanes")).text();
}

/** Asks, reads to the end, and tells what came. */
async function ask(tenant: string, places: string, init: RequestInit = {}): Promise<string> {
  const response = await request(tenant, "/runs", { ...init, method: "POST", body: JSON.stringify({ ask: places }) });
  const counts = new Map<string, number>();
  let text = "";
  let status: unknown;
  for await (const { event, data } of serverSentEvents(response)) {
    counts.set(event, (counts.get(event) ?? 0) + 1);
    if (event === "text_delta") text += data.text;
    if (event === "end") status = data.status;
  }
  console.log(`  ${tenant} got ${[...counts].map(([kind, count]) => `${count} ${kind}`).join(", ")}`);
  return `${status}: ${text}`;
}

console.log("Two tenants at once: acme asks for six places, globex for two");
const acme = ask("acme", "Kyoto, Uji, Nara, Kobe, Otsu, Himeji");
await gate.arrived("acme", 2);
const globex = ask("globex", "Osaka, Tokyo");
await gate.arrived("globex", 2);
const [acmes, globexes, all] = await Promise.all(["acme", "globex", "operator"].map(lanes));
console.log(`  GET /lanes as acme: ${acmes}, as globex: ${globexes}`);
const isOwn = acmes === '{"bound":2,"inFlight":2,"waiting":4}' && globexes === '{"bound":2,"inFlight":2,"waiting":0}';
check("each is told of its own lane alone", isOwn);
check("the operator is told of all", all?.includes("tenant:acme") === true && all.includes("tenant:globex"));
gate.open("globex");
gate.open("globex");
check("globex was served whole", (await globex) === "completed: There are rooms in all of them.");
check("none of acme's had to end for that", witness.starts("acme") === 2 && witness.inFlight("acme") === 2);

console.log("\nA client that hangs up half way");
const leaving = new AbortController();
const initech = ask("initech", "Atlantis, Lemuria, Mu", { signal: leaving.signal }).catch((error: Error) => error.name);
await gate.arrived("initech", 2);
leaving.abort();
check(`its run has ended: ${await ended.promise}`, (await ended.promise) === "run_cancelled");
check("it has read no end", (await initech) === "AbortError");
check("its places are free again", !(await lanes("operator")).includes("initech"));
check(
  "its two searches have stopped, and the third never started",
  witness.inFlight("initech") === 0 && witness.starts("initech") === 2,
);

console.log("\nWhat is refused at the door");
for (const [expected, who, body] of [
  [401, "nobody", '{ "ask": "Kyoto" }'],
  [403, "operator", '{ "ask": "Kyoto" }'],
  [400, "acme", "Kyoto"],
  [400, "acme", '{ "ask": "Kyoto", "tenant": "globex" }'],
] as const) {
  const response = await request(who, "/runs", { method: "POST", body });
  check(`${who} sends ${body}: ${response.status} ${await response.text()}`, response.status === expected);
}

console.log("\nSIGTERM, while acme's run is still at work");
const closed = once(server, "close");
process.emit("SIGTERM");
check("nothing new is taken", (await lanes("acme").catch(() => "refused")) === "refused");
gate.leaveOpen();
check("acme's run went on to its end", (await acme).startsWith("completed: There are"));
await closed;
check(
  "acme had its bound of 2 and no more, counted in the bodies",
  witness.peak("acme") === 2 && witness.starts("acme") === 6,
);
provider.assertFinished();
