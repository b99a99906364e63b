import { bootstrapService } from '@baton/platform';
import { outboxRelayService } from './service.js';

void bootstrapService(outboxRelayService);
