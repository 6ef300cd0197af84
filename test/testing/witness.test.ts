import { Deferred, FakeClock, Gate, Witness } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

describe("Witness: bodies are counted from inside", () => {
  it("counts what is in flight now, at the worst moment, and in all, by name and together", async () => {
    const witness = new Witness();
    const gate = new Gate();
    const search = witness.wrap("search", (label: string) => gate.wait(label));
    const book = witness.wrap("book", (label: string) => gate.wait(label));
    const bodies = [search("a"), search("b"), book("c")];
    expect([witness.inFlight(), witness.inFlight("search"), witness.inFlight("book")]).toEqual([3, 2, 1]);
    gate.open("a");
    await bodies[0];
    expect([witness.inFlight(), witness.inFlight("search"), witness.inFlight("book")]).toEqual([2, 1, 1]);
    bodies.push(search("d"));
    gate.openAll();
    await Promise.all(bodies);
    expect([witness.inFlight(), witness.inFlight("search")]).toEqual([0, 0]);
    witness.enter("book")();
    expect([witness.peak(), witness.peak("search"), witness.peak("book")]).toEqual([3, 2, 1]);
    expect([witness.starts(), witness.starts("search"), witness.starts("book")]).toEqual([5, 3, 2]);
    expect([witness.starts("nobody"), witness.peak("nobody"), witness.inFlight("nobody")]).toEqual([0, 0, 0]);
  });

  it("keeps the order of starts and ends", async () => {
    const witness = new Witness();
    const gate = new Gate();
    const a = witness.body("a", () => gate.wait("a"));
    const b = witness.body("b", () => gate.wait("b"));
    gate.open("b");
    await b;
    gate.open("a");
    await a;
    expect(witness.order).toEqual(["a starts", "b starts", "b ends", "a ends"]);
  });

  it("gives what the body gives: its value, its promise, its failure", async () => {
    const witness = new Witness();
    const promise = Promise.resolve(1);
    expect(witness.body("a", () => "text")).toBe("text");
    expect(witness.body("a", () => promise)).toBe(promise);
    expect(() =>
      witness.body("a", () => {
        throw new Error("at once");
      }),
    ).toThrow("at once");
    await expect(witness.body("a", () => Promise.reject(new Error("later")))).rejects.toThrow("later");
    expect(witness.inFlight()).toBe(0);
    expect(witness.starts()).toBe(4);
    const wrapped = witness.wrap("b", (left: number, right: number) => left + right);
    expect(wrapped(2, 3)).toBe(5);
  });

  it("has counted a body out before its caller goes on", async () => {
    const witness = new Witness();
    const held = new Deferred();
    const seen = witness.body("a", () => held.promise).then(() => witness.inFlight());
    held.resolve();
    expect(await seen).toBe(0);
  });

  it("counts a body until it has really ended, though its caller gave it up", async () => {
    const witness = new Witness();
    const held = new Deferred();
    const body = witness.body("deaf", () => held.promise);
    await Promise.race([body, Promise.resolve("given up")]);
    expect(witness.inFlight("deaf")).toBe(1);
    held.resolve();
    await new FakeClock().settle();
    expect(witness.inFlight("deaf")).toBe(0);
  });

  it("counts by hand, and once only when one leaves twice", () => {
    const witness = new Witness();
    const leave = witness.enter("a");
    witness.enter("a");
    leave();
    leave();
    expect(witness.inFlight("a")).toBe(1);
    expect(witness.order).toEqual(["a starts", "a starts", "a ends"]);
  });
});
