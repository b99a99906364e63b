import { type ChannelOptions, credentials, type ChannelCredentials, type ClientOptions, Metadata } from '@grpc/grpc-js';

/**
 * Options of every client inside Baton: pings find half-dead connections, calls spread over all addresses,
 * and only UNAVAILABLE is repeated. Repeating is off unless every method of the client is idempotent.
 */
export function grpcClientOptions(options: {
  readonly service: string;
  readonly retryUnavailable: boolean;
}): ClientOptions {
  const channel: ChannelOptions = {
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 10_000,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.max_receive_message_length': 64 * 1024 * 1024,
    'grpc.max_send_message_length': 8 * 1024 * 1024,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.min_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2_000,
    'grpc.enable_retries': options.retryUnavailable ? 1 : 0,
    'grpc.service_config': JSON.stringify(serviceConfig(options)),
  };
  return channel;
}

function serviceConfig(options: { readonly service: string; readonly retryUnavailable: boolean }): unknown {
  const retryPolicy = {
    maxAttempts: 4,
    initialBackoff: '0.1s',
    maxBackoff: '1s',
    backoffMultiplier: 2,
    retryableStatusCodes: ['UNAVAILABLE'],
  };
  return {
    loadBalancingConfig: [{ round_robin: {} }],
    methodConfig: options.retryUnavailable ? [{ name: [{ service: options.service }], retryPolicy }] : [],
  };
}

/** One target for all addresses: grpc-js resolves a list of IP addresses with the `ipv4:` scheme, names with `dns:`. */
export function grpcTarget(given: readonly string[]): string {
  const addresses = given.map((address) => address.replace(/^localhost:/i, '127.0.0.1:'));
  const allIpv4 = addresses.every((address) => /^\d{1,3}(\.\d{1,3}){3}:\d+$/.test(address));
  if (allIpv4) return `ipv4:${addresses.join(',')}`;
  const first = addresses[0];
  if (first === undefined || addresses.length > 1) {
    throw new Error('several addresses must be IPv4; a name that resolves to several addresses stands alone');
  }
  return `dns:${first}`;
}

export function insecureCredentials(): ChannelCredentials {
  return credentials.createInsecure();
}

/** The caller's own credential goes on: every service verifies it again. */
export function callMetadata(
  authorization: string | undefined,
  fields: Readonly<Record<string, string>> = {},
): Metadata {
  const metadata = new Metadata();
  if (authorization !== undefined) metadata.set('authorization', authorization);
  for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
  return metadata;
}
