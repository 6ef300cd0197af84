/**
 * The host's timers that code under test has armed and that have neither fired nor been cleared. The test runner's own are
 * not among them: it took its functions before these took their places.
 */
const live = new Set<NodeJS.Timeout>();

const { setTimeout: arm, clearTimeout: clear, setInterval: repeat, clearInterval: stop } = globalThis;

type Fire = (...args: unknown[]) => void;

globalThis.setTimeout = Object.assign((fire: Fire, ms?: number, ...args: unknown[]): NodeJS.Timeout => {
  const timer = arm(() => {
    live.delete(timer);
    fire(...args);
  }, ms);
  live.add(timer);
  return timer;
}, arm) as typeof setTimeout;

globalThis.setInterval = Object.assign((fire: Fire, ms?: number, ...args: unknown[]): NodeJS.Timeout => {
  const timer = repeat(fire, ms, ...args);
  live.add(timer);
  return timer;
}, repeat) as typeof setInterval;

globalThis.clearTimeout = (timer) => {
  live.delete(timer as NodeJS.Timeout);
  clear(timer);
};

globalThis.clearInterval = (timer) => {
  live.delete(timer as NodeJS.Timeout);
  stop(timer);
};

/** Those that keep the process alive. */
export function hostTimers(): NodeJS.Timeout[] {
  return [...live].filter((timer) => timer.hasRef());
}
