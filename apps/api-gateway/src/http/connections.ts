import type { ServerResponse } from 'node:http';
import type { Middleware } from './middleware.js';

/**
 * Answers under way. A listener that is closed waits for its connections, and an idle connection that is kept alive
 * would make it wait for a minute: from the first moment of a stop, every answer closes its connection.
 */
export class Connections {
  private readonly open = new Set<ServerResponse>();
  private closing = false;

  readonly track: Middleware = (_request, response, next) => {
    response.shouldKeepAlive &&= !this.closing;
    this.open.add(response);
    response.on('close', () => this.open.delete(response));
    next();
  };

  closeAfterAnswers(): void {
    this.closing = true;
    for (const response of this.open) response.shouldKeepAlive = false;
  }
}
