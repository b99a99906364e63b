import { Injectable } from '@nestjs/common';
import { SagaRuntime } from '@baton/saga';

export interface SagaHealth {
  readonly status: 'up' | 'down';
  /** Why it is down. For people, and never with a secret in it. */
  readonly reason?: string;
}

/** Whether the sagas of this process run and their tables are as they should be. For readiness, not for liveness. */
@Injectable()
export class SagaHealthIndicator {
  constructor(private readonly runtime: SagaRuntime) {}

  /** Never rejects. */
  async check(): Promise<SagaHealth> {
    try {
      await this.runtime.repoReady();
      return { status: 'up' };
    } catch (error) {
      const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
      return { status: 'down', reason: typeof code === 'string' ? code : 'the sagas are not ready' };
    }
  }

  /** In the form of `@nestjs/terminus`: `health.check([() => sagas.isHealthy('sagas')])`. */
  async isHealthy<Key extends string = 'sagas'>(key: Key = 'sagas' as Key): Promise<Record<Key, SagaHealth>> {
    return { [key]: await this.check() } as Record<Key, SagaHealth>;
  }
}
