/** The testing door: time, models and bodies driven by hand, and checks that nothing is left behind. */
export { checkRequest } from "./testing/check-request.ts";
export { Deferred } from "./testing/deferred.ts";
export { FakeClock, type FakeClockOptions, type PendingTimer } from "./testing/fake-clock.ts";
export { Gate } from "./testing/gate.ts";
export {
  type LaneGauge,
  type LaneSource,
  type LeakCheck,
  type LeakCheckOptions,
  leakCheck,
} from "./testing/leak-check.ts";
export { type BrokenResponse, breaksOff, calls, say, type WrittenCall } from "./testing/responses.ts";
export { ScriptedProvider, type ScriptStep } from "./testing/scripted-provider.ts";
export { seededRandom } from "./testing/seeded-random.ts";
export { SequentialIds } from "./testing/sequential-ids.ts";
export { type SimulateOptions, type Simulation, simulate } from "./testing/simulate.ts";
export type { SimulationCounts } from "./testing/simulation-counts.ts";
export type * from "./testing/simulation-plan.ts";
export type { MakeRunner } from "./testing/simulation-play.ts";
export { TestingError } from "./testing/testing-error.ts";
export { Witness } from "./testing/witness.ts";
