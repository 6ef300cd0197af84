import { agentTool, JournalError, MemoryJournal } from "lanekeeper";
import { calls, leakCheck, ScriptedProvider, say } from "lanekeeper/testing";
import { describe, expect, it } from "vitest";
import { about, approve, payments, pendingOf, verdicts } from "../runner/resuming.ts";
import { agent, errorOf, faults, outcomes, setUp, tool } from "../runner/setting.ts";
import { type Step, WatchedJournal } from "./journals.ts";

/** A run of two turns with a nested agent, on a journal that breaks at the n-th time it is asked to do something. */
async function broken(
  step: Step,
  at: number,
  forEver: boolean,
  suspends: boolean,
  error: unknown = new Error("disk full"),
) {
  const journal = new WatchedJournal();
  let seen = 0;
  let isBroken = false;
  journal.before = (asked) => {
    if (asked === step && ++seen === at) isBroken = true;
    else if (!forEver || !isBroken) return;
    throw error;
  };
  const started: string[] = [];
  const body = (name: string) => () => {
    // Nothing goes out whose dispatch could not be recorded.
    if (isBroken) throw new Error(`${name} started on a journal that is lost`);
    started.push(name);
    return name;
  };
  const provider = ScriptedProvider.byAgent({
    planner: [
      calls({ id: "a", name: "leaf" }, { id: "b", name: "sub", args: { input: "x" } }, { id: "c", name: "pay" }),
      calls({ id: "e", name: "leaf" }),
      say("done"),
    ],
    worker: [calls({ id: "d", name: "leaf" }, { id: "p", name: "pay" }), say("worked")],
  });
  const { pay } = payments({ requiresApproval: suspends });
  const worker = agent("worker", { tools: ["leaf", "pay"] });
  const planner = agent("planner", { tools: ["leaf", "pay", agentTool(worker, { name: "sub", description: "" })] });
  const reported: unknown[] = [];
  const { runner, clock, heard } = setUp(provider, [tool("leaf", body("leaf")), pay], {
    journal,
    agents: [planner],
    onError: (threw) => void reported.push(threw),
  });
  const leaks = leakCheck(runner, { clock });
  const run = await clock.promptly(runner.run(planner, "Go."));
  await leaks.done();
  return { run, journal, heard, reported, started, runner, clock, planner, wasBroken: isBroken };
}

describe("Semantics 2.4, 11.1: a journal that fails ends the run with a complete transcript", () => {
  for (const suspends of [false, true]) {
    for (const step of ["claim", "append", "begin", "settle", "release"] as const) {
      it(`at each ${step} of a run that ${suspends ? "waits" : "ends"}, once or for ever`, async () => {
        let times = 0;
        for (const forEver of [false, true]) {
          for (let at = 1; ; at++) {
            const { run, journal, heard, reported, wasBroken } = await broken(step, at, forEver, suspends);
            if (!wasBroken) {
              expect(run.status).toBe(suspends ? "suspended" : "completed");
              break;
            }
            times++;
            const failedAt = journal.asked.findIndex((asked, index) => {
              const same = journal.asked.slice(0, index + 1).filter((one) => one.startsWith(step)).length;
              return asked.startsWith(step) && same === at;
            });
            // Nothing is written any more after a write has failed: the run is only let go of.
            const isClaimed = step !== "claim" && step !== "release";
            expect(journal.asked.slice(failedAt + 1)).toEqual(isClaimed ? ["release unchanged"] : []);
            if (run.status === "completed") {
              // Its end alone could not be recorded: nobody has seen anything that was not.
              expect(reported).toMatchObject([{ code: "JOURNAL", held: false }]);
            } else {
              expect(errorOf(run)).toMatchObject({ code: "JOURNAL", runId: "run_1", cause: { message: "disk full" } });
              expect(errorOf(run)).toBeInstanceOf(JournalError);
            }
            expect(faults(run)).toEqual([]);
            const asked = run.messages.flatMap((one) => (one.role === "assistant" ? (one.toolCalls ?? []) : []));
            expect(run.results.map(({ callId }) => callId)).toEqual(asked.map(({ id }) => id));
            expect(
              Object.entries(verdicts(heard)).filter(([key]) => key.startsWith("0/1.") && !key.includes("0/1.1/")),
            ).toEqual(asked.filter(({ id }) => id !== "e").map((_, position) => [`0/1.${position}`, 1]));
            expect(
              heard.filter(({ path, kind }) => path === "0" && /^run_(completed|failed|suspended)/.test(kind)),
            ).toHaveLength(1);
          }
        }
        expect(times).toBeGreaterThan(1);
      });
    }
  }

  it("a run that could not be let go of does not wait, and says what may have landed", async () => {
    const { run } = await broken("release", 1, true, true);
    expect(errorOf(run).code).toBe("JOURNAL");
    expect(run.results.map(({ callId, status }) => `${callId} ${status}`)).toEqual([
      "a ok",
      "b indeterminate",
      "c never_dispatched",
    ]);
  });

  it("so it does in a run that is resumed: decisions that were not recorded start nothing", async () => {
    let times = 0;
    for (const step of ["append", "begin", "settle", "release"] as const) {
      for (let at = 1; ; at++) {
        const { run: first, journal, runner, clock } = await broken(step, 0, false, true);
        let seen = 0;
        journal.before = (asked) => {
          if (asked === step && ++seen === at) throw new Error("disk full");
        };
        const leaks = leakCheck(runner, { clock });
        const asked = journal.asked.length;
        const run = await clock.promptly(runner.resume(first.id, { decisions: about(first, approve) }));
        await leaks.done();
        expect(faults(run)).toEqual([]);
        if (seen < at) {
          expect(run.status).toBe("completed");
          break;
        }
        times++;
        expect(journal.asked.slice(asked).filter((one) => one.startsWith(step))).toHaveLength(at);
        expect(journal.asked.at(step === "release" ? -1 : -2)).toMatch(new RegExp(`^${step}`));
        if (step !== "release") expect(journal.asked.at(-1)).toBe("release unchanged");
        if (run.status !== "completed") {
          expect(errorOf(run)).toMatchObject({ code: "JOURNAL", cause: { message: "disk full" } });
        }
        // What was recorded before is not lost to the transcript.
        expect(run.results[0]).toMatchObject({ callId: "a", status: "ok", content: "leaf" });
        // The decisions are the first thing that is recorded.
        if (step === "append" && at === 1) {
          expect(run.results.map(({ status }) => status)).toEqual(["ok", "indeterminate", "never_dispatched"]);
        }
      }
    }
    expect(times).toBeGreaterThan(5);
  });

  it("whoever can record again goes on with the run: what was recorded holds, and the rest is not known", async () => {
    const { run, journal, runner, clock } = await broken("settle", 1, false, false);
    expect(run.status).toBe("failed");
    journal.before = () => {};
    const leaks = leakCheck(runner, { clock });
    const again = await clock.promptly(runner.resume("run_1"));
    await leaks.done();
    expect([again.status, faults(again)]).toEqual(["completed", []]);
    expect(outcomes(again)[0]).toBe(
      "a indeterminate: outcome unknown: the process that ran it has ended. The side effect may have landed.",
    );
  });

  it("whatever it throws is told as a JournalError, or as the error of ours that it is", async () => {
    for (const threw of [undefined, "disk full", Object.freeze({}), new TypeError("x is not a function")]) {
      const { run } = await broken("append", 1, false, false, threw);
      expect(errorOf(run)).toMatchObject({ code: "JOURNAL", held: false });
    }
    const held = new JournalError("run_1", "taken over", { held: true });
    expect(errorOf((await broken("begin", 1, false, false, held)).run)).toBe(held);
  });

  it("a resume whose journal cannot be claimed or read is rejected, and the run waits on", async () => {
    const journal = new WatchedJournal(new MemoryJournal());
    const provider = new ScriptedProvider(calls({ id: "a", name: "pay" }), say("done"));
    const { pay, ran } = payments();
    const planner = agent("planner");
    const { runner, clock } = setUp(provider, [pay], { journal, agents: [planner] });
    const first = await clock.promptly(runner.run(planner, "Go."));
    const decisions = about(first, approve);
    for (const step of ["claim", "load"] as const) {
      let isOver = false;
      journal.before = (asked) => {
        if (asked !== step || isOver) return;
        isOver = true;
        throw new Error("unreachable");
      };
      await expect(runner.resume(first.id, { decisions })).rejects.toMatchObject({
        code: "JOURNAL",
        held: false,
        cause: { message: "unreachable" },
      });
    }
    const waiting = [];
    for await (const call of runner.pending()) waiting.push(call);
    expect(waiting).toEqual(pendingOf(first));
    expect((await runner.resume(first.id, { decisions })).status).toBe("completed");
    expect(ran).toHaveLength(1);
  });
});
