import '@baton/platform/telemetry';
import { bootstrapService } from '@baton/platform';
import { apiGateway } from './service.js';

void bootstrapService(apiGateway);
