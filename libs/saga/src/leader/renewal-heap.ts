/** Something with an instant, and its place in the heap; -1 = it is not in one. */
export interface Scheduled {
  at: number;
  index: number;
}

/** The earliest first. Each entry knows its place, so that one can be moved or taken out in the time of a logarithm. */
export class RenewalHeap<T extends Scheduled> {
  private readonly items: T[] = [];

  get earliest(): T | undefined {
    return this.items[0];
  }

  get size(): number {
    return this.items.length;
  }

  /** Puts it in, or moves it to where its new instant belongs. */
  put(item: T, at: number): void {
    item.at = at;
    if (item.index < 0) {
      item.index = this.items.length;
      this.items.push(item);
    }
    this.rise(item);
    this.sink(item);
  }

  remove(item: T): void {
    const { index } = item;
    if (index < 0) return;
    item.index = -1;
    const last = this.items.pop();
    if (last === undefined || last === item) return;
    this.place(last, index);
    this.rise(last);
    this.sink(last);
  }

  private rise(item: T): void {
    for (;;) {
      const parent = this.items[(item.index - 1) >> 1];
      if (item.index === 0 || parent === undefined || parent.at <= item.at) return;
      this.swap(item, parent);
    }
  }

  private sink(item: T): void {
    for (;;) {
      const left = this.items[2 * item.index + 1];
      const right = this.items[2 * item.index + 2];
      const least = right !== undefined && left !== undefined && right.at < left.at ? right : left;
      if (least === undefined || item.at <= least.at) return;
      this.swap(item, least);
    }
  }

  private swap(a: T, b: T): void {
    const { index } = a;
    this.place(a, b.index);
    this.place(b, index);
  }

  private place(item: T, index: number): void {
    this.items[index] = item;
    item.index = index;
  }
}
