/** What a {@link TimerHeap} orders: by due time, then by the order of arming. */
export interface HeapTimer {
  readonly dueAt: number;
  readonly armed: number;
  /** Its place in the heap, kept by the heap; -1 outside. */
  place: number;
}

/** A binary heap of timers that knows each one's place, so that cancelling costs no search and leaves nothing behind. */
export class TimerHeap<T extends HeapTimer> {
  readonly #timers: T[] = [];

  get first(): T | undefined {
    return this.#timers[0];
  }

  /** All timers, the next due first. */
  sorted(): T[] {
    return [...this.#timers].sort((a, b) => (before(a, b) ? -1 : 1));
  }

  add(timer: T): void {
    this.#put(timer, this.#timers.length);
    this.#rise(timer);
  }

  /** Takes a timer out; tells whether it was in. */
  remove(timer: T): boolean {
    const place = timer.place;
    if (place < 0) return false;
    timer.place = -1;
    const last = this.#timers.pop() as T;
    if (last !== timer) {
      this.#put(last, place);
      this.#rise(last);
      this.#sink(last);
    }
    return true;
  }

  #put(timer: T, place: number): void {
    this.#timers[place] = timer;
    timer.place = place;
  }

  #rise(timer: T): void {
    while (timer.place > 0) {
      const place = timer.place;
      const parent = this.#timers[(place - 1) >> 1] as T;
      if (!before(timer, parent)) return;
      this.#put(timer, parent.place);
      this.#put(parent, place);
    }
  }

  #sink(timer: T): void {
    for (;;) {
      const place = timer.place;
      const left = this.#timers[2 * place + 1];
      const right = this.#timers[2 * place + 2];
      const child = right !== undefined && left !== undefined && before(right, left) ? right : left;
      if (child === undefined || !before(child, timer)) return;
      this.#put(timer, child.place);
      this.#put(child, place);
    }
  }
}

function before(a: HeapTimer, b: HeapTimer): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.armed < b.armed);
}
