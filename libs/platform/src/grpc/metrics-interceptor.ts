import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { type Observable, tap } from 'rxjs';
import type { Metrics } from '../metrics/metrics.js';

/** How long handlers take, by method: a bounded set (B123). A stream counts from its first message to its end. */
export class GrpcMetricsInterceptor implements NestInterceptor {
  private readonly duration;

  constructor(metrics: Metrics) {
    this.duration = metrics.histogram({
      name: 'grpc_request_duration_seconds',
      help: 'time that the handler of a gRPC method took',
      labels: ['method', 'outcome'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30],
    });
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const method = `${context.getClass().name}.${context.getHandler().name}`;
    const startedAt = performance.now();
    const observe = (outcome: 'ok' | 'error') =>
      this.duration.observe({ method, outcome }, (performance.now() - startedAt) / 1000);
    return next.handle().pipe(tap({ error: () => observe('error'), complete: () => observe('ok') }));
  }
}
