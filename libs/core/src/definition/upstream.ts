import type { Edges, GraphOrder } from './graph.js';

/**
 * Which nodes lie above which, as one bit for each pair: 10,000 nodes take 12.5 MB for the time of one check, and
 * no path is ever walked twice.
 */
export class Ancestors {
  private readonly position = new Map<string, number>();
  private readonly words: number;
  private readonly bits: Uint32Array;

  constructor(order: GraphOrder['order'], before: Edges) {
    this.words = Math.ceil(order.length / 32);
    this.bits = new Uint32Array(this.words * order.length);
    order.forEach((nodeId, index) => this.position.set(nodeId, index));
    order.forEach((nodeId, index) => {
      for (const from of before.get(nodeId) ?? []) this.inherit(index, from);
    });
  }

  /** Does `above` lie above `nodeId`, at any distance? */
  isAbove(above: string, nodeId: string): boolean {
    const from = this.position.get(above);
    const to = this.position.get(nodeId);
    if (from === undefined || to === undefined) return false;
    return ((this.bits[to * this.words + (from >> 5)] ?? 0) & (1 << (from & 31))) !== 0;
  }

  private inherit(index: number, from: string): void {
    const parent = this.position.get(from);
    if (parent === undefined) return;
    const own = index * this.words;
    const theirs = parent * this.words;
    // Nothing above a node comes after it in the order: only the words up to the parent can hold a bit.
    for (let word = 0; word <= parent >> 5; word += 1) {
      this.bits[own + word] = (this.bits[own + word] ?? 0) | (this.bits[theirs + word] ?? 0);
    }
    this.bits[own + (parent >> 5)] = (this.bits[own + (parent >> 5)] ?? 0) | (1 << (parent & 31));
  }
}
