import fc from "fast-check";
import { ConcurrencyConfig, type ConcurrencyOptions, ConfigurationError } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { changedConfig, tenantBound } from "../../src/lanes/concurrency-config.ts";

const refused = (options: unknown): string => {
  try {
    new ConcurrencyConfig(options as ConcurrencyOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as Error).message;
  }
  return "accepted";
};

describe("Semantics 4.1: bounds are integers of at least 1 or say what they bound, and anything else is told where", () => {
  it("takes what is declared, frozen, and leaves out what is not", () => {
    const config = new ConcurrencyConfig({
      perTool: { search: 4, constructor: 1 },
      perTenant: 16,
      perToolSeconds: { a: 0.5 },
    });
    expect(config).toMatchObject({ perTool: { search: 4, constructor: 1 }, perTenant: 16, perToolSeconds: { a: 0.5 } });
    expect([config.maxConcurrentTools, config.maxWaitSeconds, config.perTool.toString]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(Object.isFrozen(config) && Object.isFrozen(config.perTool)).toBe(true);
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "4", null, 2 ** 53])(
    "refuses a bound of %s with its path",
    (value) => {
      expect(refused({ maxConcurrentTools: value })).toMatch(
        /^concurrency\.maxConcurrentTools: expected an integer of at least 1, got /,
      );
      expect(refused({ perTool: { search: value } })).toMatch(/^concurrency\.perTool\.search: expected /);
      expect(refused({ perTenant: value })).toMatch(/^concurrency\.perTenant: expected /);
      expect(refused({ perResource: { maps: { inFlight: value } } })).toMatch(
        /^concurrency\.perResource\.maps\.inFlight: expected /,
      );
    },
  );

  it("refuses unknown keys, empty bounds, bad rates and bad durations", () => {
    expect(refused({ perTol: {} })).toMatch(/^concurrency\.perTol: unknown option; expected one of .*perTool/);
    expect(refused({ perTenant: {} })).toMatch(/inFlight, starts or both/);
    expect(refused({ perTenant: { starts: { count: 0, perSeconds: 1 } } })).toMatch(/starts\.count/);
    expect(refused({ perTenant: { starts: { count: 1, perSeconds: Number.POSITIVE_INFINITY } } })).toMatch(
      /starts\.perSeconds/,
    );
    for (const seconds of [0, -1, Number.NaN, "5", null]) {
      expect(refused({ perToolSeconds: { a: seconds } })).toMatch(
        /^concurrency\.perToolSeconds\.a: expected a number of seconds/,
      );
      expect(refused({ maxWaitSeconds: seconds })).toMatch(/^concurrency\.maxWaitSeconds: expected/);
    }
    for (const options of [null, 4, "x", [], () => {}])
      expect(refused(options)).toMatch(/^concurrency: expected an object/);
  });

  it("whatever it is given, it takes it or refuses it with a ConfigurationError", () => {
    const bound = fc.oneof(
      fc.anything(),
      fc.record({ inFlight: fc.anything(), starts: fc.anything() }, { requiredKeys: [] }),
    );
    const map = fc.oneof(fc.anything(), fc.dictionary(fc.string(), bound));
    const options = fc.record(
      {
        maxConcurrentTools: fc.anything(),
        perTool: map,
        perTenant: bound,
        perResource: map,
        maxWaiting: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(fc.property(options, (given) => void refused(given)));
  });

  it("what a function answers for a tenant is checked at each admission", () => {
    expect(tenantBound((tenant) => tenant.length, "acme")).toBe(4);
    expect(() => tenantBound(() => 0, "acme")).toThrow(/perTenant\("acme"\): expected an integer of at least 1, got 0/);
  });

  it("a change changes what it names and nothing else, or nothing at all", () => {
    const config = new ConcurrencyConfig({ maxConcurrentTools: 3, perTool: { a: 1, b: 2 } });
    const changed = changedConfig(config, { perTool: { a: 5, b: undefined } });
    expect({ ...changed.perTool }).toEqual({ a: 5 });
    expect(changed.maxConcurrentTools).toBe(3);
    expect(() => changedConfig(config, { perTool: { a: 0 } })).toThrow(/perTool\.a/);
    expect({ ...config.perTool }).toEqual({ a: 1, b: 2 });
  });

  it("a field changed to undefined is declared no longer, map or not", () => {
    const config = new ConcurrencyConfig({ maxConcurrentTools: 3, perTool: { a: 1 } });
    expect({ ...changedConfig(config, { perTool: undefined }).perTool }).toEqual({});
    expect(changedConfig(config, { maxConcurrentTools: undefined }).maxConcurrentTools).toBeUndefined();
  });
});
