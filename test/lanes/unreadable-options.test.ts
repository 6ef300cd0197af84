import { ConfigurationError } from "lanekeeper";
import { ConcurrencyConfig, InProcessLaneStore, Lanes } from "lanekeeper/lanes";
import { FakeClock, leakCheck } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

const boom = (): never => {
  throw new Error("boom");
};
const unreadable = (): never => new Proxy({}, { get: boom, ownKeys: boom }) as never;
const endless = (): object => new Proxy({}, { getPrototypeOf: () => endless() });
const cannotBeRead = (path: string): RegExp =>
  new RegExp(`^${path}: expected values? that can be read, got one that throws$`);

describe("Semantics 4.1: options of lanes that throw when they are read are a mistake of the options", () => {
  it.each<[string, () => unknown, RegExp]>([
    ["of the lanes", () => new Lanes({}, unreadable()), /^lanes: expected a value that can be read/],
    ["of a turn", () => new Lanes().turn({}, unreadable()), /^turn: expected a value that can be read/],
    ["of a store", () => new InProcessLaneStore(unreadable()), /^store: expected a value that can be read/],
  ])("%s", (_whose, make, message) => {
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(message);
  });

  it("bounds that nobody can tell the class of are read as an object", () => {
    expect(new Lanes(endless()).config).toEqual(new ConcurrencyConfig());
    expect(new ConcurrencyConfig().narrowedTo(endless())).toEqual(new ConcurrencyConfig());
  });

  it("of a request: it is refused, and takes no place", async () => {
    const lanes = new Lanes({ perTool: { search: 1 } });
    const options = Object.defineProperty({}, "holder", { get: boom, enumerable: true });
    await expect(lanes.acquire({ tool: "search" }, options)).rejects.toThrow(cannotBeRead("request"));
    expect(() => lanes.tryAcquire({ tool: "search" }, options)).toThrow(ConfigurationError);
    expect(lanes.snapshot()).toMatchObject([{ inFlight: 0, waiting: 0 }]);
  });

  it("a clock that is none is refused where it is given", () => {
    const expected = "an object with now, monotonic, setTimer, got a function";
    for (const [make, path] of [
      [(clock: never) => new Lanes({}, { clock }), "lanes.clock"],
      [(clock: never) => new InProcessLaneStore({ clock }), "store.clock"],
    ] as const) {
      expect(() => make(Date as never)).toThrow(new ConfigurationError(`${path}: expected ${expected}`));
    }
  });

  it("a bound by tenant that is asked for asynchronously is told as one, and its rejection is not unheard", async () => {
    const clock = new FakeClock();
    const asked = async (): Promise<number> => boom();
    const lanes = new Lanes({ perTenant: asked as never }, { clock });
    const leaks = leakCheck(lanes, { clock });
    await expect(lanes.acquire({ tenant: "acme" })).rejects.toThrow(/^concurrency\.perTenant\("acme"\): /);
    await leaks.done();
  });
});
