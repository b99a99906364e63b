import '@baton/platform/telemetry';
import { bootstrapService } from '@baton/platform';
import { timerService } from './service.js';

void bootstrapService(timerService);
