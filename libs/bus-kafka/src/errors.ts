/**
 * What a caller does about a failure of the bus:
 * retry          the same call again, later (brokers away, leader moved, timeout, missing acknowledgement)
 * unknown-topic  make the topic, then again
 * too-large      never as it is: split the batch, or give the single message up
 * invalid-topic  never
 */
export type BusErrorKind = 'retry' | 'unknown-topic' | 'too-large' | 'invalid-topic';

export class BusError extends Error {
  override readonly name = 'BusError';

  constructor(
    readonly kind: BusErrorKind,
    /** Stable: Kafka's error name, or the client's. */
    readonly code: string,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
  }
}

const kindByType: Readonly<Record<string, BusErrorKind>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'unknown-topic',
  UNKNOWN_TOPIC_ID: 'unknown-topic',
  MESSAGE_TOO_LARGE: 'too-large',
  RECORD_LIST_TOO_LARGE: 'too-large',
  INVALID_TOPIC_EXCEPTION: 'invalid-topic',
};

interface KafkaFailure {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

const asFailure = (error: unknown): KafkaFailure | null =>
  typeof error === 'object' && error !== null ? (error as KafkaFailure) : null;

/** The deepest cause that Kafka itself named: kafkajs wraps what it gave up on. */
function protocolType(error: unknown): string | null {
  const seen = new Set<unknown>();
  let found: string | null = null;
  for (let at = asFailure(error); at !== null && !seen.has(at); at = asFailure(at.cause)) {
    seen.add(at);
    if (typeof at.type === 'string') found = at.type;
    const first: unknown = Array.isArray(at.errors) ? at.errors[0] : undefined;
    found ??= first === undefined ? null : protocolType(first);
  }
  return found;
}

/** Every error of the client as one that says what to do. */
export function toBusError(error: unknown): BusError {
  if (error instanceof BusError) return error;
  const failure = asFailure(error);
  const type = protocolType(error);
  const cause = asFailure(failure?.cause);
  const fallback = [cause?.code, cause?.name, failure?.code, failure?.name].find((code) => typeof code === 'string');
  const code = type ?? (typeof fallback === 'string' ? fallback : 'UNKNOWN');
  const message = typeof failure?.message === 'string' ? failure.message : String(error);
  return new BusError((type === null ? undefined : kindByType[type]) ?? 'retry', code, message, { cause: error });
}
