import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type PhaseCall, stepOf } from "../../src/batch/phases.ts";

interface Named extends PhaseCall {
  readonly name: string;
}
/** `a` is parallel-safe, `A` is not; `?` behind it: suspended; `!`: answered. */
const batch = (text: string): Named[] =>
  text.split(" ").map((name) => ({
    name,
    parallelSafe: name[0] === name[0]?.toLowerCase(),
    state: name.endsWith("?") ? "suspended" : name.endsWith("!") ? "answered" : "ready",
  }));
/** The phases that follow from the steps of all calls. */
function planPhases<Call extends PhaseCall>(calls: readonly Call[]): Call[][] {
  const phases: Call[][] = [];
  for (const call of calls) {
    const step = stepOf(call, phases.at(-1) ?? []);
    if (step === "holds_back") break;
    if (step === "begins") phases.push([call]);
    if (step === "joins") phases.at(-1)?.push(call);
  }
  return phases;
}
const plan = (text: string): string[] =>
  planPhases(batch(text)).map((phase) => phase.map(({ name }) => name).join(" "));

describe("Semantics 5.1: consecutive parallel-safe calls share a phase, any other has one of its own", () => {
  it("reads, writes and reads in the order asked for", () => {
    expect(plan("r W r X r s")).toEqual(["r", "W", "r", "X", "r s"]);
  });

  it("a call that has its verdict already parts nobody", () => {
    expect(plan("a b! c D! d")).toEqual(["a c d"]);
  });

  it("a suspended call is set aside; one that is not parallel-safe holds back all after it", () => {
    expect(plan("a b? c D")).toEqual(["a c", "D"]);
    expect(plan("a B? c D")).toEqual(["a"]);
  });

  it("every ready call that nothing holds back is in exactly one phase, in call order", () => {
    const call = fc.record({ parallelSafe: fc.boolean(), state: fc.constantFrom("ready", "answered", "suspended") });
    fc.assert(
      fc.property(fc.array(call as fc.Arbitrary<PhaseCall>), (calls) => {
        const held = calls.findIndex((one) => one.state === "suspended" && !one.parallelSafe);
        const free = (held < 0 ? calls : calls.slice(0, held)).filter((one) => one.state === "ready");
        const phases = planPhases(calls);
        expect(phases.flat()).toEqual(free);
        for (const phase of phases) expect(phase.length === 1 || phase.every((one) => one.parallelSafe)).toBe(true);
      }),
    );
  });
});
