import { SagaHealthIndicator, type SagaHealth } from '@baton/saga-nest';
import { Controller, Get, ServiceUnavailableException } from '@nestjs/common';

@Controller()
export class HealthController {
  constructor(private readonly sagas: SagaHealthIndicator) {}

  @Get('readyz')
  async ready(): Promise<SagaHealth> {
    const health = await this.sagas.check();
    if (health.status === 'down') throw new ServiceUnavailableException(health);
    return health;
  }
}
