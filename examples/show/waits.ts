import type { RunEvent } from "lanekeeper";

/** Prints, in call order, how long each call stood before its lanes, and which kind of lane it stood there for. */
export function showWaits(events: readonly RunEvent[]): void {
  console.log("\nwaited for its lanes");
  for (const event of events) {
    if (event.kind !== "tool_dispatched") continue;
    const waits = Object.entries(event.waitedSeconds)
      .filter(([, seconds]) => seconds > 0.001)
      .map(([lane, seconds]) => `${seconds.toFixed(2)} s for its ${lane}`);
    console.log(`    ${event.callId.padEnd(14)} ${waits.join(", ") || "not at all"}`);
  }
}
