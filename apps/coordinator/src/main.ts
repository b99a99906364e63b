import '@baton/platform/telemetry';
import { bootstrapService } from '@baton/platform';
import { coordinator } from './service.js';

void bootstrapService(coordinator);
