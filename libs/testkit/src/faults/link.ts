import type { Socket } from 'node:net';
import type { ArmedFaults, Taking } from './armed-faults.js';
import type { Answer, Conversation, Request } from './conversation.js';
import { Wire, type Weather } from './wire.js';

export interface LinkParts {
  readonly near: Socket;
  readonly far: Socket;
  readonly conversation: Conversation;
  readonly faults: ArmedFaults;
  readonly weather: Weather;
}

/** An answer that the client must not see, unless it says that the request failed. */
interface Held {
  readonly exchange: number;
  readonly taking: Taking;
  readonly answer: Buffer[];
  hasFailed: boolean;
}

/** One connection through the proxy. */
export class Link {
  private readonly toServer: Wire;
  private readonly toClient: Wire;
  private held: Held | undefined;
  /** The client is cut off already; the server still gets what was sent to it, then the end. */
  private isClientGone = false;
  private isCut = false;

  constructor(private readonly parts: LinkParts) {
    const { near, far, weather } = parts;
    this.toServer = new Wire(far, weather);
    this.toClient = new Wire(near, weather);
    near.on('data', (chunk) => this.fromClient(chunk));
    far.on('data', (chunk) => this.fromServer(chunk));
    for (const socket of [near, far]) socket.on('error', () => undefined); // 'close' follows
    near.on('close', () => this.toServer.end());
    far.on('close', () => this.serverGone());
    this.weatherChanged();
  }

  /** Both ends, now: what is on the way is lost. */
  cut(reset = false): void {
    this.isCut = true;
    this.toServer.drop();
    this.toClient.drop();
    if (reset) this.parts.near.resetAndDestroy();
    else this.parts.near.destroy();
    this.parts.far.destroy();
  }

  weatherChanged(): void {
    const { near, far, weather } = this.parts;
    for (const socket of [near, far]) {
      if (weather.isFrozen) socket.pause();
      else socket.resume();
    }
    this.toServer.flush();
    this.toClient.flush();
  }

  private fromClient(chunk: Buffer): void {
    for (const request of joined(this.parts.conversation.fromClient(chunk))) {
      if (this.isCut) return;
      this.request(request);
    }
  }

  private request(request: Request): void {
    // One at a time: what was sent after a held request is forwarded, and its answers are lost with the connection.
    const isBusy = this.held !== undefined || this.isClientGone;
    const taking = request.decisive === null || isBusy ? undefined : this.parts.faults.take(request.decisive);
    if (taking?.point === 'before') {
      this.cut(taking.reset);
      taking.happen();
      return;
    }
    if (taking?.point === 'late') taking.holdBack(this.toServer.hold());
    this.toServer.send(request.bytes);
    if (taking === undefined) return;
    if (taking.point === 'after') {
      this.held = { exchange: request.exchange, taking, answer: [], hasFailed: false };
      return;
    }
    this.isClientGone = true;
    this.toClient.drop();
    if (taking.reset) this.parts.near.resetAndDestroy();
    else this.parts.near.destroy();
    taking.happen();
  }

  private fromServer(chunk: Buffer): void {
    for (const answer of this.parts.conversation.fromServer(chunk)) {
      if (this.isCut) return;
      if (this.held?.exchange === answer.exchange) this.hold(this.held, answer);
      else this.toClient.send(answer.bytes);
    }
  }

  private hold(held: Held, answer: Answer): void {
    held.answer.push(answer.bytes);
    held.hasFailed ||= answer.isFailure;
    if (!answer.isLast) return;
    if (held.hasFailed) {
      this.release(held);
      return;
    }
    this.held = undefined;
    this.cut(held.taking.reset);
    held.taking.happen();
  }

  private release(held: Held): void {
    this.held = undefined;
    held.taking.giveBack();
    this.toClient.send(Buffer.concat(held.answer));
  }

  private serverGone(): void {
    if (this.held !== undefined && !this.isCut) this.release(this.held);
    this.toClient.end();
  }
}

/** Messages that are answered together and came together share their fate: Parse, Bind, Execute, Sync. */
function joined(requests: readonly Request[]): readonly Request[] {
  const groups: Request[] = [];
  for (const request of requests) {
    const last = groups.at(-1);
    if (last?.exchange !== request.exchange) groups.push(request);
    else {
      const bytes = Buffer.concat([last.bytes, request.bytes]);
      groups[groups.length - 1] = { ...last, bytes, decisive: last.decisive ?? request.decisive };
    }
  }
  return groups;
}
