/** A promise that somebody else settles. */
export class Deferred<T = void> {
  /** What is waited for. Left alone when it rejects, it is no unhandled rejection; promises made from it are. */
  readonly promise: Promise<T>;
  /** Fulfils the promise; does nothing when it has settled. */
  readonly resolve: (value: T | PromiseLike<T>) => void;
  /** Rejects the promise; does nothing when it has settled. */
  readonly reject: (reason: unknown) => void;

  constructor() {
    let resolve!: (value: T | PromiseLike<T>) => void;
    let reject!: (reason: unknown) => void;
    this.promise = new Promise<T>((fulfil, fail) => {
      resolve = fulfil;
      reject = fail;
    });
    this.promise.catch(() => {});
    this.resolve = resolve;
    this.reject = reject;
  }
}
