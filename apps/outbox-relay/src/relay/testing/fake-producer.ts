import { BusError, type BusErrorKind, type LaneAck, type LaneMessage, type LaneProducer } from '@baton/bus-kafka';

export type Outcome =
  | { readonly kind: 'stored' }
  /** Stored, but the answer was lost. */
  | { readonly kind: 'stored-but-failed' }
  | { readonly kind: 'failed'; readonly as: BusErrorKind };

/** A broker in memory whose every answer the test decides. */
export class FakeProducer implements LaneProducer {
  readonly stored: { readonly topic: string; readonly partition: number; readonly message: LaneMessage }[] = [];
  readonly batches: number[] = [];
  inFlight = 0;
  mostInFlight = 0;
  ensured = 0;

  constructor(
    private readonly decide: (messages: readonly LaneMessage[]) => Outcome = () => ({ kind: 'stored' }),
    private readonly partitions = 1,
  ) {}

  async sendLane(topic: string, partition: number, messages: readonly LaneMessage[]): Promise<LaneAck> {
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    this.inFlight -= 1;
    const outcome = this.decide(messages);
    if (outcome.kind !== 'failed') {
      this.batches.push(messages.length);
      for (const message of messages) this.stored.push({ topic, partition, message });
    }
    if (outcome.kind === 'stored') return { baseOffset: BigInt(this.stored.length) };
    throw new BusError(outcome.kind === 'failed' ? outcome.as : 'retry', 'FAKE', 'as the test wants');
  }

  metadata(): Promise<{ readonly partitions: number }> {
    return Promise.resolve({ partitions: this.partitions });
  }

  ensureTopic(): Promise<{ readonly partitions: number; readonly created: boolean }> {
    this.ensured += 1;
    return Promise.resolve({ partitions: this.partitions, created: false });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
