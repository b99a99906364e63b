import type { Socket } from 'node:net';

/** What a proxy does to all its wires at present. */
export interface Weather {
  delayMs: number;
  isFrozen: boolean;
}

interface Waiting {
  readonly bytes: Buffer;
  readonly dueAt: number;
}

/** One direction of a connection: in order, late if it must be, and not at all while it is frozen. */
export class Wire {
  private readonly waiting: Waiting[] = [];
  private timer: NodeJS.Timeout | undefined;
  private isEnding = false;
  private isHeld = false;

  constructor(
    private readonly sink: Socket,
    private readonly weather: Weather,
  ) {}

  send(bytes: Buffer): void {
    this.waiting.push({ bytes, dueAt: performance.now() + this.weather.delayMs });
    this.flush();
  }

  /** Ends the other side once everything has arrived there. */
  end(): void {
    this.isEnding = true;
    this.flush();
  }

  flush(): void {
    clearTimeout(this.timer);
    if (this.weather.isFrozen || this.isHeld) return;
    for (;;) {
      const [next] = this.waiting;
      if (next === undefined) break;
      const wait = next.dueAt - performance.now();
      if (wait > 0) {
        this.timer = setTimeout(() => this.flush(), wait);
        return;
      }
      this.waiting.shift();
      if (!this.sink.destroyed) this.sink.write(next.bytes);
    }
    if (this.isEnding) this.sink.end();
  }

  /** Nothing arrives until it is let go. */
  hold(): () => void {
    this.isHeld = true;
    return () => {
      this.isHeld = false;
      this.flush();
    };
  }

  /** What has not arrived never will. */
  drop(): void {
    clearTimeout(this.timer);
    this.waiting.length = 0;
    this.isEnding = this.isHeld = false;
  }
}
