import {
  type AcquireOptions,
  type LaneRequest,
  type LaneSnapshot,
  Lanes,
  type LanesOptions,
  type Permit,
} from "lanekeeper/lanes";
import { FakeClock } from "lanekeeper/testing";

type Config = ConstructorParameters<typeof Lanes>[0];

/** Lanes whose time a test moves, with short ways to ask and to look. */
export class LanesAtWork {
  readonly clock: FakeClock;
  readonly lanes: Lanes;

  constructor(config: Config = {}, { clock = new FakeClock(), ...options }: LanesOptions & { clock?: FakeClock } = {}) {
    this.clock = clock;
    this.lanes = new Lanes(config, { ...options, clock });
  }

  /** Asks for a permit and lets everything run that needs no time. */
  async ask(request: LaneRequest, options?: AcquireOptions): Promise<Asked> {
    const asked = new Asked(this.lanes.acquire(request, options));
    await this.clock.settle();
    return asked;
  }

  /** Asks several times for the same, in order. */
  async askTimes(times: number, request: LaneRequest, options?: AcquireOptions): Promise<Asked[]> {
    const all: Asked[] = [];
    for (let time = 0; time < times; time += 1) all.push(await this.ask(request, options));
    return all;
  }

  /** Gives a permit back and lets everything run that needs no time. */
  async release({ permit }: Asked): Promise<void> {
    permit?.release();
    await this.clock.settle();
  }

  /** One lane as the snapshot tells it; undefined when there is none. */
  lane(label: string): LaneSnapshot | undefined {
    return this.lanes.snapshot().find(({ lane }) => lane === label);
  }

  /** `in flight/waiting` of a lane. */
  count(label: string): string {
    const lane = this.lane(label);
    return `${lane?.inFlight ?? 0}/${lane?.waiting ?? 0}`;
  }
}

/** What became of one request. */
export class Asked {
  permit: Permit | undefined;
  error: unknown;

  constructor(answer: Promise<Permit>) {
    answer.then(
      (permit) => {
        this.permit = permit;
      },
      (error: unknown) => {
        this.error = error;
      },
    );
  }

  get waits(): boolean {
    return this.permit === undefined && this.error === undefined;
  }

  /** The permit of a request that was granted. */
  get held(): Permit {
    if (this.permit === undefined) throw new Error("expected a permit, but the request waits or failed");
    return this.permit;
  }
}

/** `held`, `waits`, or the name of the error, for each request. */
export function states(asked: readonly Asked[]): string[] {
  return asked.map(({ waits, permit, error }) => {
    if (waits) return "waits";
    return permit === undefined ? (error as Error).name : permit.givenBack ? "given back" : "held";
  });
}
