/** Values that hurt, as recipes: made anew for each case, and shown without being looked at. */
import fc from "fast-check";

/** How to make a value. The generator and its reports see the recipe only, for they look at what they are given. */
export class Recipe {
  readonly text: string;
  readonly make: () => unknown;

  constructor(text: string, make: () => unknown) {
    this.text = text;
    this.make = make;
  }

  [fc.toStringMethod](): string {
    return this.text;
  }
}

const boom = (): never => {
  throw new Error("boom");
};

const TRAPS = ["get", "has", "ownKeys", "getOwnPropertyDescriptor", "getPrototypeOf"] as const;

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

function endless(): object {
  return new Proxy({}, { getPrototypeOf: () => endless() });
}

/** Rejected, and heard here: what the runtime makes of it is the runtime's to hear. */
function rejected(reason: unknown): Promise<never> {
  const promise = Promise.reject(reason);
  promise.catch(() => {});
  return promise;
}

class Point {
  x = 1;
  #y = 2;
  get y(): number {
    return this.#y;
  }
}

/** An error of ours as another copy of the package would make it, or somebody who only says so. */
const forged = (members: object): object => Object.assign({ [Symbol.for("lanekeeper.error")]: true }, members);

/** Thenables are what is being made. */
const THEN = "then";

function thenable(then: unknown, on: object = {}): object {
  return Object.defineProperty(on, THEN, { value: then, enumerable: true });
}

const ODD: Record<string, () => unknown> = {
  undefined: () => undefined,
  null: () => null,
  NaN: () => Number.NaN,
  "-Infinity": () => Number.NEGATIVE_INFINITY,
  "-0": () => -0,
  "5n": () => 5n,
  '"\\ud800"': () => "\ud800",
  '"x".repeat(5000)': () => "x".repeat(5_000),
  '"語".repeat(900)': () => "語".repeat(900),
  'Symbol("s")': () => Symbol("s"),
  "() => 1": () => () => 1,
  "class {}": () => class {},
  "/x/g": () => /x/g,
  "new Date(NaN)": () => new Date(Number.NaN),
  "new Date(0)": () => new Date(0),
  "new Point()": () => new Point(),
  "new Uint8Array(3)": () => new Uint8Array(3),
  "new Float64Array([NaN])": () => new Float64Array([Number.NaN]),
  "new DataView(…)": () => new DataView(new ArrayBuffer(2)),
  "new SharedArrayBuffer(2)": () => new SharedArrayBuffer(2),
  "Object(1n)": () => Object(1n),
  "new String()": () => new String("x"),
  "new WeakMap()": () => new WeakMap(),
  "new URL()": () => new URL("https://example.com"),
  "AbortSignal.abort()": () => AbortSignal.abort(),
  "new Array(2 ** 30)": () => new Array(2 ** 30),
  "a generator": () =>
    (function* () {
      yield 1;
    })(),
  "an async generator": () =>
    (async function* () {
      yield 1;
    })(),
  "a circle": () => {
    const around: Record<string, unknown> = {};
    around.self = around;
    around.cause = around;
    return around;
  },
  "a Map in itself": () => {
    const map = new Map<unknown, unknown>();
    return map.set(map, map);
  },
  "nested 2000 deep": () => JSON.parse(`${"[".repeat(2_000)}${"]".repeat(2_000)}`),
  'JSON.parse(\'{"__proto__":{"polluted":1}}\')': () =>
    JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'),
  "Promise.resolve(1)": () => Promise.resolve(1),
  'Promise.reject("r")': () => rejected("r"),
  "a revoked proxy": () => revoked({}),
  "a revoked array": () => revoked([]),
  "a revoked function": () => revoked(() => {}),
  "a proxy without end": endless,
  "then never": () => thenable(() => {}),
  "then throws": () => thenable(boom),
  "then getter throws": () => Object.defineProperty({}, THEN, { get: boom }),
  "then twice": () =>
    thenable((resolve: (value: unknown) => void, reject: (reason: unknown) => void) => {
      resolve("first");
      reject("second");
      throw new Error("third");
    }),
  "a forged error": () => forged({}),
  "a forged error whose toJSON is odd": () =>
    forged({ code: "X", message: "m", name: "n", toJSON: () => ({ message: "m", big: 1n }) }),
  "a forged error whose code throws": () =>
    Object.defineProperty(forged({ message: "m", toJSON: () => ({ message: "m" }) }), "code", { get: boom }),
  "an error whose message throws": () => Object.defineProperty(new Error("x"), "message", { get: boom }),
  "an error whose name is odd": () => Object.assign(new Error("x"), { name: Symbol("n"), stack: 5 }),
  "an AbortError": () => new DOMException("gone", "AbortError"),
  "an error that is its own cause": () => {
    const error = new Error("round");
    error.cause = error;
    return error;
  },
  "toString throws": () => ({ toString: boom, valueOf: boom, [Symbol.toPrimitive]: boom }),
  "toStringTag throws": () => Object.defineProperty({}, Symbol.toStringTag, { get: boom }),
  "a proxy that answers everything": () => new Proxy(() => {}, { get: (_target, _key, self) => self }),
};

/** Shown whole, and never in more than a few lines. */
const shown = (value: unknown): string => {
  const text = fc.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
};

/** A plain value of any kind that the generator knows. */
export function plain(): fc.Arbitrary<Recipe> {
  return fc
    .anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
      withBoxedValues: true,
      withSparseArray: true,
      maxDepth: 3,
    })
    .map((value) => new Recipe(shown(value), () => value));
}

/** Any value, made to hurt or ordinary, nested in each other. */
export function hostile(): fc.Arbitrary<Recipe> {
  const odd = Object.entries(ODD).map(([text, make]) => new Recipe(text, make));
  const traps = TRAPS.flatMap((trap) =>
    [{ a: 1 }, [1]].map(
      (target) =>
        new Recipe(`new Proxy(${JSON.stringify(target)}, { ${trap}: throws })`, () => {
          return new Proxy(structuredClone(target), { [trap]: boom });
        }),
    ),
  );
  const { value } = fc.letrec<{ value: Recipe }>((tie) => {
    const around = (show: (inner: string) => string, wrap: (inner: unknown) => unknown): fc.Arbitrary<Recipe> =>
      tie("value").map(({ text, make }) => new Recipe(show(text), () => wrap(make())));
    return {
      value: fc.oneof(
        { maxDepth: 3, depthSize: "small" },
        { arbitrary: fc.constantFrom(...odd), weight: 6 },
        { arbitrary: plain(), weight: 4 },
        { arbitrary: fc.constantFrom(...traps), weight: 2 },
        around(
          (x) => `{ member: ${x}, more: 1 }`,
          (x) => ({ member: x, more: 1 }),
        ),
        around(
          (x) => `[${x}, 1]`,
          (x) => [x, 1],
        ),
        around(
          (x) => `{ toJSON: () => ${x} }`,
          (x) => ({ toJSON: () => x }),
        ),
        around(
          (x) => `{ member: ${x}, get hidden: throws }`,
          (x) => Object.defineProperty({ member: x }, "hidden", { get: boom, enumerable: true }),
        ),
        around(
          (x) => `new Proxy({}, { get: () => ${x} })`,
          (x) => new Proxy({}, { get: () => x }),
        ),
        around(
          (x) => `new Map([[${x}, same]])`,
          (x) => new Map([[x, x]]),
        ),
        around(
          (x) => `Object.freeze({ member: ${x} })`,
          (x) => Object.freeze({ member: x }),
        ),
        around(
          (x) => `{ then: ${x} }`,
          (x) => thenable(x),
        ),
        around(
          (x) => `{ then: (resolve) => resolve(${x}) }`,
          (x) => thenable((resolve: (value: unknown) => void) => resolve(x)),
        ),
        around(
          (x) => `{ then: (_, reject) => reject(${x}) }`,
          (x) => thenable((_: unknown, reject: (reason: unknown) => void) => reject(x)),
        ),
        around(
          (x) => `Promise.reject(${x})`,
          (x) => rejected(x),
        ),
        around(
          (x) => `new AggregateError([${x}], "many", { cause: same })`,
          (x) => new AggregateError([x, x], "many", { cause: x }),
        ),
        around(
          (x) => `an error with message ${x}`,
          (x) => Object.freeze(Object.defineProperty(new Error("x"), "message", { value: x })),
        ),
        around(
          (x) => `a forged error with ${x}`,
          (x) => forged({ code: x, message: x, cause: x, toJSON: () => x }),
        ),
      ),
    };
  });
  return value;
}

/** How somebody else's code answers. */
export const HOW = ["returns", "throws", "resolves", "rejects", "later", "rejects later"] as const;

/** Answers with what a recipe makes, in one of the ways in which code answers. */
function answering(how: (typeof HOW)[number], { make }: Recipe): unknown {
  switch (how) {
    case "returns":
      return make();
    case "throws":
      throw make();
    case "resolves":
      return Promise.resolve().then(make);
    case "rejects":
      return Promise.reject(make());
    case "later":
      return new Promise((resolve) => setImmediate(() => resolve(make())));
    case "rejects later":
      return new Promise((_, reject) => setImmediate(() => reject(make())));
  }
}

/** How code answers, and with what. */
export class Answer {
  readonly how: (typeof HOW)[number];
  readonly what: Recipe;

  constructor(how: (typeof HOW)[number], what: Recipe) {
    this.how = how;
    this.what = what;
  }

  give(): unknown {
    return answering(this.how, this.what);
  }

  [fc.toStringMethod](): string {
    return `${this.how} ${this.what.text}`;
  }
}

export function answer(what: fc.Arbitrary<Recipe> = hostile()): fc.Arbitrary<Answer> {
  return fc.tuple(fc.constantFrom(...HOW), what).map(([how, made]) => new Answer(how, made));
}
