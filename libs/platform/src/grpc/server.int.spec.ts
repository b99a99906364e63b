import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { Controller, Module } from '@nestjs/common';
import { GrpcMethod, GrpcStreamCall } from '@nestjs/microservices';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import type { RunningService, ServiceDefinition } from '../bootstrap/definition.js';
import { startService } from '../bootstrap/start.js';
import { AllowRoles, NoCredential, principalOf } from './auth-guard.js';

interface Text {
  readonly text: string;
}

const json = {
  requestSerialize: (value: Text) => Buffer.from(JSON.stringify(value)),
  requestDeserialize: (bytes: Buffer) => JSON.parse(bytes.toString()) as Text,
  responseSerialize: (value: Text) => Buffer.from(JSON.stringify(value)),
  responseDeserialize: (bytes: Buffer) => JSON.parse(bytes.toString()) as Text,
};

/** Keyed in camelCase, as ts-proto keys its service maps. */
const method = (name: string, service: string, stream = false) => ({
  path: `/probe.v1.${service}/${name}`,
  requestStream: stream,
  responseStream: stream,
  ...json,
});
const publicService = { echo: method('Echo', 'PublicService'), talk: method('Talk', 'PublicService', true) };
const internalService = { ping: method('Ping', 'InternalService') };

let release = (): void => undefined;

@Controller()
class ProbeController {
  @GrpcMethod('PublicService', 'Echo')
  @AllowRoles('client')
  async echo({ text }: Text, metadata: Metadata): Promise<Text> {
    if (text === 'known') throw { kind: 'conflict', code: 'KNOWN', message: 'a known error', details: [] };
    if (text === 'bug') throw new Error('SELECT secret FROM table');
    if (text === 'text') throw 'only a text';
    if (text === 'wait') await new Promise<void>((resolve) => (release = resolve));
    return { text: `${principalOf(metadata).namespace}:${text}` };
  }

  @GrpcStreamCall('PublicService', 'Talk')
  talk(call: ServerDuplexStream<Text, Text>): void {
    const { namespace } = principalOf(call.metadata);
    call.on('data', ({ text }: Text) => call.write({ text: `${namespace}:${text}` }));
    call.on('end', () => call.end());
  }

  @GrpcMethod('InternalService', 'Ping')
  @NoCredential()
  ping(): Text {
    return { text: 'pong' };
  }
}

@Module({ controllers: [ProbeController] })
class ProbeModule {}

const probe: ServiceDefinition<Record<string, never>> = {
  name: 'probe',
  adminPort: 0,
  settings: {},
  module: () => ProbeModule,
  grpc: () => ({
    endpoints: [
      { name: 'public', host: '127.0.0.1', port: 0, services: [publicService] },
      { name: 'internal', host: '127.0.0.1', port: 0, services: [internalService] },
    ],
    errors: (error, metadata) => {
      const { code, message } = error as { code?: string; message: string };
      if (code === undefined) return undefined;
      metadata.set('baton-code', code);
      return { code: code === 'KNOWN' ? status.ALREADY_EXISTS : status.INTERNAL, message, details: message, metadata };
    },
  }),
};

describe('a gRPC service', () => {
  let service: RunningService;
  const clients: Client[] = [];

  beforeEach(async () => {
    service = await startService(probe, {
      BATON_ADMIN_PORT: '0',
      BATON_LOG_LEVEL: 'silent',
      BATON_SHUTDOWN_TIMEOUT_MS: '1000',
    });
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await service.stop();
  });

  function clientOf(endpoint: 'public' | 'internal'): Client {
    const client = new Client(`127.0.0.1:${service.ports[endpoint]}`, credentials.createInsecure());
    clients.push(client);
    return client;
  }

  function call(client: Client, path: string, text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: Text) =>
        error === null ? resolve(answer?.text ?? '') : reject(error);
      client.makeUnaryRequest(
        path,
        json.requestSerialize,
        json.responseDeserialize,
        { text },
        new Metadata(),
        {},
        done,
      );
    });
  }

  const ECHO = '/probe.v1.PublicService/Echo';

  it('serves each service on its own port and no other', async () => {
    const [outside, inside] = [clientOf('public'), clientOf('internal')];
    expect(await call(outside, ECHO, 'hi')).toBe('default:hi');
    expect(await call(inside, '/probe.v1.InternalService/Ping', '')).toBe('pong');
    const wrongPort = call(outside, '/probe.v1.InternalService/Ping', '');
    await expect(wrongPort).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
  });

  it('keeps the code of known errors, and tells nothing about others (B112)', async () => {
    const client = clientOf('public');
    const known = await call(client, ECHO, 'known').catch((error: ServiceError) => error);
    expect(known).toMatchObject({ code: status.ALREADY_EXISTS, details: 'a known error' });
    expect((known as ServiceError).metadata.get('baton-code')).toEqual(['KNOWN']);
    for (const text of ['bug', 'text']) {
      const error = await call(client, ECHO, text).catch((caught: ServiceError) => caught);
      expect(error).toMatchObject({ code: status.INTERNAL, details: 'internal error' });
    }
    expect(await call(client, ECHO, 'alive')).toBe('default:alive');
  });

  it('streams, with the caller known', async () => {
    const client = clientOf('public');
    const stream = client.makeBidiStreamRequest(
      '/probe.v1.PublicService/Talk',
      json.requestSerialize,
      json.responseDeserialize,
      new Metadata(),
    );
    const answer = new Promise<Text>((resolve) => stream.once('data', resolve));
    stream.write({ text: 'a' });
    expect((await answer).text).toBe('default:a');
    const ended = new Promise((resolve) => stream.once('end', resolve));
    stream.end();
    await ended;
  });

  it('answers what is in flight when it stops, says NOT_SERVING first, and cuts streams that stay', async () => {
    const client = clientOf('public');
    const states: string[] = [];
    const { Watch } = healthService;
    const watch = client.makeServerStreamRequest(
      Watch?.path ?? '',
      Watch?.requestSerialize as never,
      Watch?.responseDeserialize as never,
      { service: 'probe.v1.PublicService' },
    );
    watch.on('data', (state: { status: string }) => states.push(state.status));
    watch.on('error', () => undefined);
    const waiting = call(client, ECHO, 'wait');
    await call(client, ECHO, 'hi');
    const stopped = service.stop();
    while (!states.includes('NOT_SERVING')) await new Promise((resolve) => setImmediate(resolve));
    release();
    expect(await waiting).toBe('default:wait');
    expect(await stopped).toBe(true);
    await expect(call(clientOf('public'), ECHO, 'late')).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });
});
