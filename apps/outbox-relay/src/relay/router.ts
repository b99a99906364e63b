import { BusError, parseTopic, partitionFor } from '@baton/bus-kafka';
import { Lane, type LaneContext } from './lane.js';
import { Patience, SessionOver } from './patience.js';
import type { Entry } from './publishing.js';

/*
 * Owns: which lane a row goes to. The partition is computed here, from a number of partitions that does not grow while
 * the process lives, so that a key does not change its lane when somebody adds partitions.
 */

type Route =
  | { readonly state: 'opening'; readonly waiting: Entry[] }
  | { readonly state: 'open'; readonly lanes: readonly Lane[] };

export class Router {
  private readonly routes = new Map<string, Route>();

  constructor(private readonly context: LaneContext) {}

  get laneCount(): number {
    let count = 0;
    for (const route of this.routes.values()) count += route.state === 'open' ? route.lanes.length : 0;
    return count;
  }

  publish(entry: Entry): void {
    const { topic, runId } = entry.row;
    const route = this.routes.get(topic) ?? this.open(topic);
    if (route === undefined) this.refuse(entry);
    else if (route.state === 'opening') route.waiting.push(entry);
    else laneOf(route.lanes, runId).add(entry);
  }

  private open(topic: string): Route | undefined {
    if (parseTopic(topic) === undefined) return undefined;
    const route: Route = { state: 'opening', waiting: [] };
    this.routes.set(topic, route);
    this.ensure(topic).then(
      (partitions) => {
        const lanes = Array.from({ length: partitions }, (_, partition) => new Lane(topic, partition, this.context));
        this.routes.set(topic, { state: 'open', lanes });
        for (const entry of route.waiting) laneOf(lanes, entry.row.runId).add(entry);
      },
      (error: unknown) => this.ended(error),
    );
    return route;
  }

  private async ensure(topic: string): Promise<number> {
    const { producer, layout, guard, hooks } = this.context;
    const patience = new Patience(guard);
    for (;;) {
      guard.check();
      try {
        const { partitions } = await producer.ensureTopic(topic, layout);
        return this.context.partitions(topic, partitions);
      } catch (error) {
        if (!(error instanceof BusError)) throw error;
        hooks.retried(topic, error.code);
      }
      await patience.wait();
    }
  }

  /** R28: not a topic of ours. Nothing can take its place there, so the dead row alone records it. */
  private refuse(entry: Entry): void {
    this.context.bury(entry, 'BAD_TOPIC').then(
      () => {
        this.context.hooks.died('(refused)', 'BAD_TOPIC');
        entry.settle();
      },
      (error: unknown) => this.ended(error),
    );
  }

  private ended(error: unknown): void {
    if (!(error instanceof SessionOver)) this.context.failed(error);
  }
}

function laneOf(lanes: readonly Lane[], runId: string): Lane {
  const lane = lanes[partitionFor(runId, lanes.length)];
  if (lane === undefined) throw new Error('a topic without partitions');
  return lane;
}
