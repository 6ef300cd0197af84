// biome-ignore-all lint/suspicious/noThenProperty: thenables are the subject.
import { describe, expect, it } from "vitest";
import { bodyOutcome } from "../../src/tools/body-outcome.ts";

describe("Semantics 2.6, 2.7: whatever way a body ends, it has one outcome", () => {
  it("a plain return, also of nothing", async () => {
    expect(await bodyOutcome(() => 1)).toEqual({ returned: 1 });
    expect(await bodyOutcome(() => undefined)).toEqual({ returned: undefined });
  });

  it("a throw at once and a rejection are the same", async () => {
    const thrown = new Error("no");
    expect(
      await bodyOutcome(() => {
        throw thrown;
      }),
    ).toEqual({ threw: thrown });
    expect(
      await bodyOutcome(async () => {
        throw thrown;
      }),
    ).toEqual({ threw: thrown });
    expect(await bodyOutcome(() => Promise.reject())).toEqual({ threw: undefined });
  });

  it("a promise is followed", async () => {
    expect(await bodyOutcome(async () => "later")).toEqual({ returned: "later" });
  });

  it("a thenable is followed, and the first of its settlements wins", async () => {
    const twice = {
      then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => {
        resolve("first");
        resolve("second");
        reject(new Error("third"));
      },
    };
    expect(await bodyOutcome(() => twice)).toEqual({ returned: "first" });
    const thenThrows = {
      then: (resolve: (value: unknown) => void) => {
        resolve("first");
        throw new Error("late");
      },
    };
    expect(await bodyOutcome(() => thenThrows)).toEqual({ returned: "first" });
    const rejectsTwice = {
      then: (_: unknown, reject: (error: unknown) => void) => {
        reject("one");
        reject("two");
      },
    };
    expect(await bodyOutcome(() => rejectsTwice)).toEqual({ threw: "one" });
  });

  it("a then that throws, or cannot be read, is a failure", async () => {
    expect(
      await bodyOutcome(() => ({
        then() {
          throw "unready";
        },
      })),
    ).toEqual({ threw: "unready" });
    expect(
      await bodyOutcome(() => ({
        get then() {
          throw "hidden";
        },
      })),
    ).toEqual({ threw: "hidden" });
  });

  it("an async then that throws is a failure and leaves no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): void => {
      unhandled.push(reason);
    };
    process.on("unhandledRejection", listen);
    const outcome = await bodyOutcome(() => ({
      async then() {
        throw "async";
      },
    }));
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", listen);
    expect(outcome).toEqual({ threw: "async" });
    expect(unhandled).toEqual([]);
  });

  it("then is read once and called once", async () => {
    let read = 0;
    let called = 0;
    const value = {
      get then() {
        read++;
        return (resolve: (value: unknown) => void) => {
          called++;
          resolve(1);
        };
      },
    };
    expect(await bodyOutcome(() => value)).toEqual({ returned: 1 });
    expect([read, called]).toEqual([1, 1]);
  });

  it("a thenable that gives itself, or others without end, is a failure", async () => {
    const self = { then: (resolve: (value: unknown) => void) => resolve(self) };
    expect(await bodyOutcome(() => self)).toEqual({
      threw: expect.objectContaining({ message: expect.stringContaining("without end") }),
    });
  });

  it("a thenable may give a promise", async () => {
    expect(
      await bodyOutcome(() => ({ then: (resolve: (value: unknown) => void) => resolve(Promise.resolve(7)) })),
    ).toEqual({ returned: 7 });
  });

  it.each([
    ["every property", (_target: object, _key: PropertyKey, self: unknown) => self],
    [
      "every name but no symbol",
      (_target: object, key: PropertyKey, self: unknown) => (typeof key === "string" ? self : undefined),
    ],
  ])("a proxy that answers %s is a failure and no hang", async (_title, get) => {
    for (const target of [{}, () => {}]) {
      const proxy = new Proxy(target, { get, apply: () => undefined });
      const callable = new Proxy(target, { get: (t, key) => (get(t, key, 1) === undefined ? undefined : () => {}) });
      const failed = { threw: expect.objectContaining({ message: expect.stringContaining("answers every property") }) };
      if (typeof target === "function") expect(await bodyOutcome(() => proxy)).toEqual(failed);
      expect(await bodyOutcome(() => callable)).toEqual(failed);
    }
  });

  it("a proxy that throws at names it does not know is an honest thenable", async () => {
    const strict = new Proxy(
      { then: (resolve: (value: unknown) => void) => resolve("ok") },
      {
        get(target, key) {
          if (key !== "then") throw new Error(`no ${String(key)}`);
          return target.then;
        },
      },
    );
    expect(await bodyOutcome(() => strict)).toEqual({ returned: "ok" });
  });

  it("an object whose then is no function is a value", async () => {
    expect(await bodyOutcome(() => ({ then: 5 }))).toEqual({ returned: { then: 5 } });
  });
});
