/** The ways in which a run is stopped from outside, for cases that must hold for each of them. */
import type { Agent, AgentRunner, Run, RunnerOptions, RunOptions } from "lanekeeper";
import { agent } from "../runner/setting.ts";
import type { ReportWorld } from "./report-world.ts";

/** A run that may be stopped at any moment; `stop` resolves once what it does has been done. */
interface Stoppable {
  readonly running: Promise<Run>;
  stop(): Promise<void>;
}

export interface WayToStop {
  readonly name: string;
  /** What the runner must be given for it. */
  readonly options: RunnerOptions;
  /** What each call that had not resolved is told. */
  readonly why: string;
  /** How the run ends, and what it says. */
  readonly ends: { readonly status: "failed" | "cancelled"; readonly error: { code: string; message: string } };
  start(world: ReportWorld, runner: AgentRunner, of?: Agent, options?: RunOptions): Stoppable;
}

/** When the deadline passes, counted from the start of the run. */
const DEADLINE_SECONDS = 60;
const PASSED = `deadlines.runSeconds: the run took longer than ${DEADLINE_SECONDS} s`;

export const WAYS_TO_STOP: readonly WayToStop[] = [
  {
    name: "its signal",
    options: {},
    why: "the run was cancelled",
    ends: cancelled("the run was cancelled by its signal"),
    start: (world, runner, of = agent("planner"), options = {}) => {
      const controller = new AbortController();
      return {
        running: world.run(runner, of, "Go.", { ...options, signal: controller.signal }),
        stop: async () => controller.abort(new Error("enough")),
      };
    },
  },
  {
    name: "its deadline",
    options: { deadlines: { runSeconds: DEADLINE_SECONDS } },
    why: PASSED,
    ends: { status: "failed", error: { code: "DEADLINE_EXCEEDED", message: PASSED } },
    start: (world, runner, of = agent("planner"), options = {}) => {
      const endsAt = world.clock.monotonic() + DEADLINE_SECONDS * 1_000;
      return {
        running: world.run(runner, of, "Go.", options),
        stop: () => world.clock.advance((endsAt - world.clock.monotonic()) / 1_000),
      };
    },
  },
  {
    name: "the end of its runner",
    options: {},
    why: "the runner was closed",
    ends: cancelled("the run was cancelled: its runner was closed"),
    start: (world, runner, of = agent("planner"), options = {}) => ({
      running: world.run(runner, of, "Go.", options),
      stop: () => world.clock.promptly(runner.close({ drainSeconds: 0 })),
    }),
  },
  {
    name: "the leaving of its stream",
    options: {},
    why: "the run was cancelled",
    ends: cancelled("the run was cancelled: its stream was left"),
    start: (world, runner, of = agent("planner"), options = {}) => {
      const stream = runner.stream(of, "Go.", options);
      const reader = stream[Symbol.asyncIterator]();
      return { running: world.keep(stream.run), stop: async () => void (await world.clock.promptly(leave(reader))) };
    },
  },
];

function cancelled(message: string): WayToStop["ends"] {
  return { status: "cancelled", error: { code: "CANCELLED", message } };
}

function leave<T>(reader: AsyncIterator<T, undefined>): Promise<IteratorResult<T, undefined>> {
  return (reader.return as () => Promise<IteratorResult<T, undefined>>)();
}
