/** What a {@link Heap} orders: the smallest rank is on top. An item is in at most one heap at a time. */
export interface Ranked {
  rank: number;
  /** Where it stands in its heap; -1 outside of one. Written by the heap only. */
  heapIndex: number;
}

/** A binary heap whose items know their place, so that one in the middle can be taken out or moved. */
export class Heap<T extends Ranked> {
  /** In heap order: only the first one's place means anything. */
  readonly items: T[] = [];

  get size(): number {
    return this.items.length;
  }

  top(): T | undefined {
    return this.items[0];
  }

  push(item: T): void {
    this.items.push(item);
    this.#up(item, this.items.length - 1);
  }

  remove(item: T): void {
    const place = item.heapIndex;
    const last = this.items.pop() as T;
    item.heapIndex = -1;
    if (place === this.items.length) return;
    this.#down(last, place);
    this.#up(last, last.heapIndex);
  }

  /** Puts an item right whose rank has changed. */
  refile(item: T): void {
    this.#down(item, item.heapIndex);
    this.#up(item, item.heapIndex);
  }

  #up(item: T, from: number): void {
    const { items } = this;
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const other = items[above] as T;
      if (item.rank >= other.rank) break;
      items[place] = other;
      other.heapIndex = place;
      place = above;
    }
    items[place] = item;
    item.heapIndex = place;
  }

  #down(item: T, from: number): void {
    const { items } = this;
    let place = from;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= items.length) break;
      if (below + 1 < items.length && (items[below + 1] as T).rank < (items[below] as T).rank) below += 1;
      const other = items[below] as T;
      if (other.rank >= item.rank) break;
      items[place] = other;
      other.heapIndex = place;
      place = below;
    }
    items[place] = item;
    item.heapIndex = place;
  }
}
