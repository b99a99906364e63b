import type { Delivery } from './delivery.js';

/** First in, first out, without moving what is left at each take. */
export class ReadyQueue {
  private items: Delivery[] = [];
  private head = 0;

  get size(): number {
    return this.items.length - this.head;
  }

  push(delivery: Delivery): void {
    this.items.push(delivery);
  }

  take(): Delivery | undefined {
    const delivery = this.items[this.head];
    if (delivery === undefined) return undefined;
    this.head += 1;
    if (this.head > 1_024 && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return delivery;
  }

  clear(): void {
    this.items = [];
    this.head = 0;
  }
}
