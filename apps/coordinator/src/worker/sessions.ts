import type { Logger } from '@baton/platform';
import type { SessionCallStream } from './session.js';
import { WorkerSession } from './session.js';
import type { WorkerCalls } from './worker-calls.js';

/** All worker streams of this process, and their orderly end. */
export class Sessions {
  private readonly open = new Set<WorkerSession>();
  private isLeaving = false;

  constructor(
    private readonly calls: WorkerCalls,
    private readonly logger: Logger,
  ) {}

  get count(): number {
    return this.open.size;
  }

  accept(stream: SessionCallStream, namespace: string): void {
    const session = new WorkerSession(stream, namespace, this.calls);
    this.open.add(session);
    this.logger.info({ peer: stream.getPeer(), namespace, sessions: this.open.size }, 'worker session opened');
    void session.whenEnded.then(() => {
      this.open.delete(session);
      this.logger.info({ peer: stream.getPeer(), sessions: this.open.size }, 'worker session ended');
    });
    if (this.isLeaving) session.sayGoingAway();
  }

  sayGoingAway(): void {
    this.isLeaving = true;
    for (const session of this.open) session.sayGoingAway();
  }

  /** Gives workers time to finish here, then ends every stream as soon as its last call is answered. */
  async drain(graceMs: number): Promise<void> {
    const all = Promise.all([...this.open].map((session) => session.whenEnded));
    await Promise.race([all, delay(graceMs)]);
    for (const session of this.open) session.end();
    await Promise.race([all, delay(graceMs)]);
  }
}

async function delay(ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
