import * as root from "lanekeeper";
import * as lanes from "lanekeeper/lanes";
import * as testing from "lanekeeper/testing";
import { describe, expect, it } from "vitest";

const ERRORS = [
  "CancelledError",
  "CassetteMismatchError",
  "ConfigurationError",
  "DeadlineExceededError",
  "EventLoopStalledError",
  "GuardrailViolationError",
  "InternalError",
  "JournalError",
  "LaneDeadlockError",
  "LaneFullError",
  "LaneStoreUnavailableError",
  "LaneWaitExceededError",
  "OutputInvalidError",
  "ProviderError",
  "ToolDeniedError",
  "ToolFailedError",
  "ToolIndeterminateError",
  "ToolInputError",
  "ToolNotFoundError",
  "ToolOutputError",
  "ToolStoppedError",
  "ToolTimedOutError",
  "TurnLimitExceededError",
  "WorkersBusyError",
];
const ROOT = [
  ...ERRORS,
  "Agent",
  "AgentRunner",
  "ConcurrencyConfig",
  "DeadlineConfig",
  "LanekeeperError",
  "Lanes",
  "MemoryJournal",
  "ToolRegistry",
  "agentTool",
  "currentCall",
  "defineTool",
  "runBatch",
  "systemClock",
  "systemIds",
  "systemRandom",
];
const LANES = ["ConcurrencyConfig", "InProcessLaneStore", "Lanes"];
const TESTING = [
  "Deferred",
  "FakeClock",
  "Gate",
  "ScriptedProvider",
  "SequentialIds",
  "TestingError",
  "Witness",
  "breaksOff",
  "calls",
  "checkRequest",
  "leakCheck",
  "say",
  "seededRandom",
  "simulate",
];

describe("what users import is a contract: a name that goes or changes breaks their programs", () => {
  it("the root door", () => {
    expect(Object.keys(root).sort()).toEqual([...ROOT].sort());
  });

  it("the doors of the lanes and of the testing kit", () => {
    expect(Object.keys(lanes)).toEqual(expect.arrayContaining(LANES));
    expect(Object.keys(testing).sort()).toEqual([...TESTING].sort());
  });

  it("an error's code is its class's name in upper snake case, without Error", () => {
    for (const name of ERRORS) {
      const made = (root as unknown as Record<string, { errorName: string; prototype: object }>)[name];
      expect(made?.errorName).toBe(name);
      expect(made?.prototype).toBeInstanceOf(root.LanekeeperError);
    }
    expect(new root.EventLoopStalledError("hash", 1.23456, "hash.ts:7").toJSON()).toEqual({
      name: "EventLoopStalledError",
      code: "EVENT_LOOP_STALLED",
      message: "hash held the event loop for 1.235 s at hash.ts:7",
      tool: "hash",
      stalledSeconds: 1.23456,
      where: "hash.ts:7",
    });
    expect(new root.WorkersBusyError("hash", { size: 2, queued: 8, longestWaitSeconds: 1.5 })).toMatchObject({
      code: "WORKERS_BUSY",
      message: "hash: expected a free thread of 2, got 8 calls waiting, the oldest for 1.5 s",
      size: 2,
    });
    expect(new root.CassetteMismatchError("nothing like it", ["messages"])).toMatchObject({
      code: "CASSETTE_MISMATCH",
      fields: ["messages"],
    });
  });
});
