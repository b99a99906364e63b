import type { Ways } from './ways.js';
import { queueOf, type RunQueue, type Work } from './work.js';

/**
 * What a batch leaves behind. R4: when an event is taken out of a batch, all later events of its run go with it, in
 * order, ahead of newer arrivals.
 */
export class Carried {
  private readonly front: Work[] = [];
  private readonly grouped: RunQueue[] = [];
  private readonly single: RunQueue[] = [];
  /** Later events of runs whose earlier ones are on their way: they follow wherever those end. */
  private readonly rest = new Map<string, readonly Work[]>();

  constructor(private readonly ways: Ways) {}

  /** These come after what is in flight for this run, and before what was put earlier. */
  putRest(queue: RunQueue, works: readonly Work[]): void {
    const key = keyOf(queue);
    this.rest.set(key, [...works, ...(this.rest.get(key) ?? [])]);
  }

  /** All of the queue is answered: the rest of its run can go on. */
  done(queue: RunQueue): void {
    const rest = this.takeRest(queue);
    const [first] = rest;
    if (first === undefined) return;
    if (this.ways.locks(first)) this.lock(queueOf(rest));
    else this.front.push(...rest);
  }

  lock(queue: RunQueue): void {
    if (this.ways.isSingleStatement) return this.lockKeyed(queue);
    const works = [...queue.works, ...this.takeRest(queue)];
    // Retries wait for a key: nobody else's event waits with them.
    (works.some((work) => work.keysFirst) ? this.single : this.grouped).push(queueOf(works));
  }

  /** R30: what comes after them needs no transaction, and follows when they are done. */
  private lockKeyed(queue: RunQueue): void {
    const other = queue.works.findIndex((work) => !this.ways.locks(work));
    if (other > 0) this.putRest(queue, queue.works.slice(other));
    this.single.push(other > 0 ? queueOf(queue.works.slice(0, other)) : queue);
  }

  alone(queue: RunQueue): void {
    const rest = this.ways.isSingleStatement ? [] : this.takeRest(queue);
    this.single.push(queueOf([...queue.works, ...rest]));
  }

  later(queue: RunQueue): void {
    this.front.push(...queue.works, ...this.takeRest(queue));
  }

  missed(queue: RunQueue): void {
    for (const work of queue.works) work.misses += 1;
    this.later(queue);
  }

  /** What is to be tried next: several runs, or one alone. Empty = none is left. */
  takeLocked(most: number): RunQueue[] {
    if (this.grouped.length > 0) return this.grouped.splice(0, most);
    return this.single.splice(0, 1);
  }

  next(): readonly Work[] {
    return this.front;
  }

  private takeRest(queue: RunQueue): readonly Work[] {
    const key = keyOf(queue);
    const rest = this.rest.get(key) ?? [];
    this.rest.delete(key);
    return rest;
  }
}

function keyOf(queue: RunQueue): string {
  return `${queue.runId}/${queue.namespace}`;
}
