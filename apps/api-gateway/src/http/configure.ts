import type { Server } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import type { Express } from 'express';
import type { GatewayPlatform } from '../service.js';
import { answerBrokenRequest } from './broken-request.js';
import { observeRequests } from './access.js';
import { Connections } from './connections.js';
import { authenticate, openContext, readBody } from './middleware.js';
import { ProblemFilter } from './problem-filter.js';
import { ReplyInterceptor } from './reply.js';

/** Order matters: an id for everything, a measurement of everything, no body of a stranger is read. */
export function configureHttp(app: INestApplication, platform: GatewayPlatform): void {
  const express = app.getHttpAdapter().getInstance() as Express;
  express.disable('x-powered-by');
  express.disable('etag');
  express.set('query parser', false);
  const connections = new Connections();
  platform.lifecycle.onShutdown('intake', 'kept-alive connections', () => connections.closeAfterAnswers());
  app.use(connections.track, openContext, observeRequests(platform), authenticate(platform.auth), readBody);
  app.useGlobalFilters(new ProblemFilter(platform.logger));
  app.useGlobalInterceptors(new ReplyInterceptor());
  const server = app.getHttpServer() as Server;
  // Longer than the idle time of common balancers, so that they close first and never reuse a dead connection.
  server.keepAliveTimeout = 65_000;
  server.headersTimeout = 70_000;
  server.requestTimeout = 120_000;
  server.on('clientError', answerBrokenRequest);
}
