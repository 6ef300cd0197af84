import fc from "fast-check";
import { ConcurrencyConfig, type ConcurrencyOptions } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { limitsOf } from "../../src/lanes/bound.ts";

describe("Semantics 4.2: narrowing takes the smaller of each field and the union of the names, and never widens", () => {
  it("takes the smaller of each field, whichever side it stands on", () => {
    const wide = { maxConcurrentTools: 8, perTool: { a: 4, b: 2 }, perTenant: 16, maxWaiting: 9, maxWaitSeconds: 2 };
    const narrow = { maxConcurrentTools: 2, perTool: { a: 9, c: 1 }, perToolSeconds: { a: 3 }, maxWaitSeconds: 60 };
    const expected = {
      maxConcurrentTools: 2,
      perTool: { a: 4, b: 2, c: 1 },
      perTenant: 16,
      perToolSeconds: { a: 3 },
      maxWaiting: 9,
      maxWaitSeconds: 2,
    };
    expect(new ConcurrencyConfig(wide).narrowedTo(narrow)).toMatchObject(expected);
    expect(new ConcurrencyConfig(narrow).narrowedTo(wide)).toMatchObject(expected);
  });

  it("an empty config narrows nothing", () => {
    const config = new ConcurrencyConfig({ maxConcurrentTools: 20, abandonSeconds: 5 });
    expect(config.narrowedTo({})).toEqual(config);
  });

  it("keeps both rates where neither implies the other, and only the stricter where it does", () => {
    const second = { count: 10, perSeconds: 1 };
    const minute = { count: 200, perSeconds: 60 };
    const narrowed = (one: ConcurrencyOptions["perTenant"], other: ConcurrencyOptions["perTenant"]): unknown =>
      new ConcurrencyConfig({ perTenant: one as number }).narrowedTo({ perTenant: other as number }).perTenant;
    expect(narrowed({ starts: second }, { starts: minute, inFlight: 3 })).toEqual({
      inFlight: 3,
      starts: [second, minute],
    });
    expect(narrowed({ starts: second }, { starts: { count: 5, perSeconds: 1 } })).toEqual({
      starts: { count: 5, perSeconds: 1 },
    });
    expect(narrowed({ starts: second }, { starts: second })).toEqual({ starts: second });
  });

  it("two functions of the tenant are both asked", () => {
    const narrowed = new ConcurrencyConfig({ perTenant: () => 5 }).narrowedTo({ perTenant: (tenant) => tenant.length });
    expect((narrowed.perTenant as (tenant: string) => unknown)("ab")).toBe(2);
    expect((narrowed.perTenant as (tenant: string) => unknown)("abcdefgh")).toBe(5);
  });

  it("for any two bounds the result is within both", () => {
    const rate = fc.record({ count: fc.integer({ min: 1, max: 5 }), perSeconds: fc.integer({ min: 1, max: 5 }) });
    const bound = fc.oneof(
      fc.integer({ min: 1, max: 9 }),
      fc.record({ inFlight: fc.integer({ min: 1, max: 9 }), starts: rate }),
      fc.record({ starts: fc.array(rate, { minLength: 1, maxLength: 3 }) }),
    );
    fc.assert(
      fc.property(bound, bound, (one, other) => {
        const both = limitsOf(
          new ConcurrencyConfig({ perTenant: one }).narrowedTo({ perTenant: other }).perTenant as never,
        );
        for (const side of [limitsOf(one), limitsOf(other)]) {
          expect(both.inFlight).toBeLessThanOrEqual(side.inFlight);
          for (const { count, perSeconds } of side.rates) {
            expect(both.rates.some((kept) => kept.count <= count && kept.perSeconds >= perSeconds)).toBe(true);
          }
        }
      }),
    );
  });
});
