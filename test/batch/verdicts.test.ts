import { CancelledError, ToolTimedOutError } from "lanekeeper";
import { describe, expect, it } from "vitest";
import { denied, failed, neverDispatched, stoppedInFlight } from "../../src/batch/verdict.ts";

const call = { id: "c1", name: "booking" };
const reason = {
  status: "cancelled" as const,
  error: new CancelledError("the run was cancelled"),
  why: "the run was cancelled",
};

describe("Semantics 7.3, 8: what may have landed is said, and what never went out is said apart from it", () => {
  it("a call that never went out can have done nothing", () => {
    expect(neverDispatched(call, reason.why)).toMatchObject({
      callId: "c1",
      name: "booking",
      status: "never_dispatched",
      content: "never dispatched: the run was cancelled",
      mayHaveLanded: false,
    });
  });

  it("a denial gives its reason, or says that none was given", () => {
    expect(denied(call, "too dear").content).toBe("never dispatched: denied: too dear");
    expect(denied(call, " ").content).toBe("never dispatched: denied: no reason was given");
    expect(denied(call).error?.code).toBe("TOOL_DENIED");
  });

  it("an idempotent call that was stopped in flight is safe to call again", () => {
    expect(stoppedInFlight(call, true, reason)).toMatchObject({
      status: "error",
      content: "stopped in flight: the run was cancelled. Safe to call again.",
      mayHaveLanded: false,
    });
  });

  it("any other is indeterminate, and its text ends with what may be", () => {
    const stopped = stoppedInFlight(call, false, reason);
    expect(stopped).toMatchObject({
      status: "indeterminate",
      content: "stopped in flight: the run was cancelled. The side effect may have landed.",
      mayHaveLanded: true,
    });
    expect([stopped.error?.code, stopped.error?.cause]).toEqual(["TOOL_INDETERMINATE", reason.error]);
  });

  it("a ceiling ends in the same words where the side effect may have landed", () => {
    const error = new ToolTimedOutError("booking", 5);
    expect(failed(call, error, true).content).toMatch(/ceiling of 5 s\. The side effect may have landed\.$/);
    expect(failed(call, error).content).toBe(error.message);
  });
});
