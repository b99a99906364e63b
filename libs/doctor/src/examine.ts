import { Collector } from './collector.js';
import { walkKeys } from './keys.js';
import { walkOutbox } from './outbox.js';
import { examinePartitions } from './partitions.js';
import { examineRelay, type RelayView } from './relay.js';
import type { DoctorReport, ExamineOptions, Invariant } from './report.js';
import { walkRuns } from './runs/walk.js';
import { Session } from './session.js';
import { examineTopics } from './topics/examine-topics.js';
import type { TopicIndex } from './topics/topic-index.js';

const DEFAULTS = { slot: 'baton_outbox', pageSize: 200, lastMessages: 5_000, overdueMs: 5 * 60_000 };

/**
 * Looks for broken invariants in a database and its topics. Reads alone, by key and in bounded pages, and may be used on
 * a live platform: what it compares is of one snapshot, or is read in an order that leaves no room for what is under way.
 *
 * Rejects when the database cannot be reached; what cannot be looked at later is told in `unable`.
 */
export async function examine(options: ExamineOptions): Promise<DoctorReport> {
  const session = await Session.open(options);
  try {
    const collector = new Collector(options.maxFindings, options.onProgress);
    if (await isReadable(session, collector)) await new Examination(session, collector, options).run();
    return collector.report();
  } finally {
    await session.close();
  }
}

/** Another schema than the one that this build knows cannot be judged. */
async function isReadable(session: Session, collector: Collector): Promise<boolean> {
  // Loaded when it is needed: it brings the migrations' own library along.
  const { checkSchemaVersion } = await import('@baton/migrations');
  const check = await checkSchemaVersion(session.client);
  if (check.state === 'ok') return true;
  collector.unable('the schema', check.message);
  return false;
}

const OF_RUNS: readonly Invariant[] = ['I1', 'I2', 'I4', 'I5', 'I6', 'I9', 'I10', 'I11', 'R8'];

class Examination {
  private relay: RelayView = { used: false, publishedBefore: null, looked: 'not looked at' };
  private topics: TopicIndex | null = null;

  constructor(
    private readonly session: Session,
    private readonly collector: Collector,
    private readonly options: ExamineOptions,
  ) {}

  async run(): Promise<void> {
    const { session, collector, options } = this;
    const { namespace } = options;
    const overdueMs = options.overdueMs ?? DEFAULTS.overdueMs;
    this.describe();
    await this.part('the runs', OF_RUNS, () =>
      walkRuns({ session, collector, namespace, overdueMs, pageSize: options.pageSize ?? DEFAULTS.pageSize }),
    );
    await this.part('the keys', ['I11'], () => walkKeys(session, collector, namespace));
    await this.part('the partitions', ['R25'], () => examinePartitions(session, collector, namespace));
    // In this order: what the relay says first, then the topics, then the rows that it spoke of.
    await this.part('the relay', ['I7'], async () => {
      this.relay = await examineRelay(session, collector, options.slot ?? DEFAULTS.slot);
    });
    await this.part('the topics', ['I7', 'I8'], () => this.readTopics());
    await this.part('the outbox', ['I2', 'I7'], () =>
      walkOutbox({
        session,
        collector,
        namespace,
        overdueMs,
        publishedBefore: this.relay.publishedBefore,
        topics: this.topics,
      }),
    );
  }

  private async readTopics(): Promise<void> {
    const { brokers, namespace, full = false, lastMessages = DEFAULTS.lastMessages } = this.options;
    if (brokers === undefined) return;
    const { session, collector } = this;
    this.topics = await examineTopics({ session, collector, brokers, namespace, full, lastMessages });
  }

  /** What goes wrong in one part is told, and the others are looked at all the same. */
  private async part(what: string, invariants: readonly Invariant[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.options.signal?.throwIfAborted();
      this.collector.unable(what, reasonOf(error), invariants);
    }
  }

  /** The lines of the report, in the order of the invariants. */
  private describe(): void {
    const { collector, options } = this;
    const { examined } = collector;
    const noBrokers = options.brokers === undefined;
    const runs = (): string => `${count(examined.runs, 'run')}`;
    const line = (name: string, invariants: readonly Invariant[], looked: () => string, skipped = false): void =>
      collector.line(name, invariants, looked, skipped);
    line('sequences', ['I1'], () => `${count(examined.journalRows, 'journal row')} and the outbox of ${runs()}`);
    line('effects', ['I2'], () => `${count(examined.tasks, 'task')}, ${count(examined.outboxRows, 'outbox row')}`);
    line('ends', ['I4'], runs);
    line('dispatches', ['I5'], () => count(examined.tasks, 'task'));
    line('wake-ups', ['I6'], () => `${count(examined.tasks, 'task')}, ${count(examined.timers, 'timer')}`);
    line('relay', ['I7'], () => `${this.relay.looked}${noBrokers ? '; no topic' : ''}`);
    const messages = (): string => {
      const partial = this.topics?.partial ?? 0;
      const order = partial === 0 ? '' : `; no order in ${count(partial, 'partition')} whose beginning was not read`;
      return `${count(examined.messages, 'message')}${order}`;
    };
    line('topics', ['I8'], noBrokers ? () => 'no brokers were given' : messages, noBrokers);
    line('leases', ['I9'], () => count(examined.tasks, 'task'));
    line('compensation', ['I10'], runs);
    line('keys', ['I11'], () => `${count(examined.keys, 'key')}, ${runs()}`);
    line('stuck runs', ['R8'], runs);
    line('partitions', ['R25'], () => 'the DEFAULT partitions');
  }
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
