import type { ServerUnaryCall } from '@grpc/grpc-js';

/** Long polls in flight. They end when the caller is gone, or when this process stops: with the run as it is then. */
export class ResultWaits {
  private readonly open = new Set<AbortController>();
  private isStopping = false;

  async within<T>(
    call: Pick<ServerUnaryCall<unknown, unknown>, 'on' | 'off'>,
    wait: (signal: AbortSignal) => Promise<T>,
  ) {
    const controller = new AbortController();
    const abort = () => controller.abort();
    if (this.isStopping) abort();
    this.open.add(controller);
    call.on('cancelled', abort);
    try {
      return await wait(controller.signal);
    } finally {
      call.off('cancelled', abort);
      this.open.delete(controller);
    }
  }

  endAll(): void {
    this.isStopping = true;
    for (const controller of this.open) controller.abort();
  }
}
