import { styleText } from "node:util";
import type { LaneSnapshot } from "lanekeeper";
import logUpdate from "log-update";

const FRAME_MS = 80;

/**
 * One line per lane for as long as something runs: redrawn in place on a terminal, and elsewhere a plain line whenever
 * a lane has changed.
 */
export class LaneLines {
  readonly #source: { lanes(): LaneSnapshot[] };
  readonly #startedAt = performance.now();
  readonly #isTerminal = process.stdout.isTTY === true && process.stdout.columns > 0;
  readonly #frames: NodeJS.Timeout | undefined;
  readonly #last = new Map<string, string>();

  constructor(source: { lanes(): LaneSnapshot[] }) {
    this.#source = source;
    if (this.#isTerminal) this.#frames = setInterval(() => this.show(), FRAME_MS);
  }

  show(): void {
    const seconds = `${((performance.now() - this.#startedAt) / 1000).toFixed(2)} s`;
    const lanes = this.#source.lanes();
    if (this.#isTerminal) {
      logUpdate([seconds, ...lanes.map((lane) => `  ${bar(lane)}`)].join("\n"));
      return;
    }
    for (const lane of lanes) {
      const line = text(lane);
      const isNews =
        this.#last.get(lane.lane) !== line && (lane.inFlight + lane.waiting > 0 || this.#last.has(lane.lane));
      if (!isNews) continue;
      this.#last.set(lane.lane, line);
      console.log(`${seconds.padStart(8)}  ${line}`);
    }
  }

  /** Leaves the last frame where it stands. */
  done(): void {
    this.show();
    clearInterval(this.#frames);
    if (this.#isTerminal) logUpdate.done();
    console.log(`\ntook ${((performance.now() - this.#startedAt) / 1000).toFixed(2)} s\n`);
  }
}

/** What follows the kind in these lanes' names, ids of runs and digests, says little on a screen. */
const nameOf = ({ lane }: LaneSnapshot): string => {
  const kind = lane.slice(0, lane.indexOf(":"));
  return (kind === "turn" || kind === "exclusive" || kind === "arguments" ? kind : lane).padEnd(16);
};

function bar(lane: LaneSnapshot): string {
  const places = Math.min(lane.bound, 40);
  const taken = "█".repeat(Math.min(lane.inFlight, places)) + "░".repeat(Math.max(places - lane.inFlight, 0));
  const waiting = lane.waiting > 0 ? styleText("yellow", `  ${lane.waiting} waiting`) : "";
  return `${nameOf(lane)} ${styleText("cyan", taken.padEnd(9))} ${lane.inFlight}/${lane.bound}${waiting}`;
}

function text(lane: LaneSnapshot): string {
  return `${nameOf(lane)} ${lane.inFlight} of ${lane.bound} in flight, ${lane.waiting} waiting`;
}
