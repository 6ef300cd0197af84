import { Lanes } from "lanekeeper/lanes";
import { describe, expect, it } from "vitest";

describe("Semantics 4.5, 5.3: of calls with identical arguments none waits beside its places", () => {
  it("when the oldest of them, of another tenant, must wait for its tenant", async () => {
    const lanes = new Lanes({ perTenant: 1 });
    const started: string[] = [];
    const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const ask = async (name: string, request: object) => {
      const permit = await lanes.acquire({ ...request, turn: lanes.turn() });
      started.push(name);
      return permit;
    };
    const book = (tenant: string, exclusive: string) => ({ tenant, tool: "book", arguments: "{}", exclusive });
    const first = await ask("first", { tenant: "acme", tool: "search" });
    const holder = ask("holder", book("acme", "run 1"));
    const older = ask("older", { tenant: "acme", tool: "find" });
    first.release();
    await tick();
    void ask("acme's", book("acme", "run 2"));
    void ask("other's", book("other", "run 3"));
    await tick();
    (await holder).release();
    await tick();
    // acme's one place went to the older call; every lane of the other tenant's call has a place.
    expect(started).toEqual(["first", "holder", "older", "other's"]);
    (await older).release();
  });
});
