import { connect, createServer, type Server, type Socket } from 'node:net';

/** A wire to the database that a test can cut and mend. */
export class CuttableProxy {
  private readonly sockets = new Set<Socket>();
  private isCut = false;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async to(databaseUrl: string): Promise<CuttableProxy> {
    const target = new URL(databaseUrl);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(databaseUrl);
    url.port = String((server.address() as { port: number }).port);
    url.hostname = '127.0.0.1';
    const proxy = new CuttableProxy(server, url.toString());
    server.on('connection', (near) => proxy.join(near, connect(Number(target.port), target.hostname)));
    return proxy;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private join(near: Socket, far: Socket): void {
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
    if (this.isCut) {
      near.destroy();
      return;
    }
    near.pipe(far).pipe(near);
  }
}
