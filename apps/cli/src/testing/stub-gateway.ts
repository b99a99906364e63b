import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Screen } from '../io/output.js';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface StubAnswer {
  readonly status?: number;
  readonly body: string;
}

/** Answers over real HTTP with what a test has queued, and remembers what it was asked. */
export class StubGateway {
  readonly seen: SeenRequest[] = [];
  private readonly answers: StubAnswer[] = [];
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      void text(request).then((body) => {
        this.seen.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body });
        const answer = this.answers.shift() ?? { status: 500, body: '{"code":"NO_ANSWER_QUEUED"}' };
        response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' }).end(answer.body);
      });
    });
  }

  static async start(): Promise<StubGateway> {
    const gateway = new StubGateway();
    await new Promise<void>((resolve) => gateway.server.listen(0, '127.0.0.1', resolve));
    return gateway;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  answer(...answers: readonly StubAnswer[]): void {
    this.answers.push(...answers);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Keeps what commands print. */
export class RecordingScreen implements Screen {
  printed = '';
  complained = '';
  readonly isTerminal = false;
  readonly width = undefined;
  readonly out = (text: string): void => {
    this.printed += text;
  };
  readonly err = (text: string): void => {
    this.complained += text;
  };
}
