import { Agent, AgentRunner, type ModelRequest } from "lanekeeper";
import { ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { tool } from "./batch-world.ts";

describe("Semantics 5.4: how a tool may run is never told to a vendor", () => {
  it("a model is shown name, description and input schema, and nothing else", async () => {
    const requests: ModelRequest[] = [];
    const provider = new ScriptedProvider((request: ModelRequest) => {
      requests.push(request);
      return say("Done.");
    });
    const declared = {
      parallelSafe: false,
      idempotent: true,
      retry: { attempts: 2 },
      resource: "r",
      abandonSeconds: 1,
    };
    const runner = new AgentRunner({ provider, tools: [tool("write", { ...declared, run: () => "" })] });
    const agent = new Agent({ name: "a", instructions: "", model: "m", freeText: true });
    expect((await runner.run(agent, "Go.")).status).toBe("completed");
    expect(requests[0]?.tools).toEqual([{ name: "write", description: "write", inputSchema: { type: "object" } }]);
  });
});
