import fc from "fast-check";

const boom = (): never => {
  throw new Error("trap");
};

const TRAPS = ["get", "has", "ownKeys", "getOwnPropertyDescriptor", "getPrototypeOf"] as const;

type Make = () => unknown;

const circle = (): unknown => {
  const around: Record<string, unknown> = {};
  around.self = around;
  around.cause = around;
  return around;
};

/**
 * Makers of values made to hurt, nested in each other and in ordinary ones. Makers, because the generator itself looks
 * at what it generates.
 */
export function hostileValue(): fc.Arbitrary<Make> {
  const { value } = fc.letrec<{ value: Make }>((tie) => {
    const around = (wrap: (inner: unknown) => unknown): fc.Arbitrary<Make> =>
      tie("value").map((make) => () => wrap(make()));
    return {
      value: fc.oneof(
        { maxDepth: 4, depthSize: "small" },
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }).map((plain) => () => plain),
        fc
          .constantFrom<unknown>(undefined, null, Symbol("s"), new Date(Number.NaN), /x/, "\ud800", Number.NaN, 5n)
          .map((odd) => () => odd),
        fc.constantFrom(...TRAPS).map((trap) => () => new Proxy({ a: 1 }, { [trap]: boom })),
        fc.constantFrom(...TRAPS).map((trap) => () => new Proxy([1], { [trap]: boom })),
        fc.constantFrom(
          circle,
          () => () => 1,
          () => new WeakMap(),
          () => Promise.resolve(1),
        ),
        around((answer) => new Proxy({}, { get: () => answer })),
        around((answer) => ({ toJSON: () => answer })),
        around((member) => ({
          member,
          get hidden() {
            return boom();
          },
        })),
        around((member) => [member, member]),
        around((member) => ({ member, more: member })),
        around((member) => new Map([[member, member]])),
        around((part) => new AggregateError([part, part], "many", { cause: part })),
        around((message) => Object.freeze(Object.defineProperty(new Error("x"), "message", { value: message }))),
        // biome-ignore lint/suspicious/noThenProperty: a thenable is what is being made.
        around((then) => Object.fromEntries([["then", then]])),
        around(() => Object.defineProperty(new Error("x"), "message", { get: boom })),
      ),
    };
  });
  return value;
}
