import '@baton/platform/telemetry';
import { bootstrapService } from '@baton/platform';
import { definitionRegistry } from './service.js';

void bootstrapService(definitionRegistry);
