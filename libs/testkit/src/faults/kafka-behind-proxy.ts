import { freePort, startKafka, type RunningKafka } from '@baton/local-stack';
import { startFaultProxy, type FaultProxy } from './fault-proxy.js';

/** A broker of the caller's own, and the proxy that it advertises itself by. */
export interface KafkaBehindProxy {
  readonly kafka: RunningKafka;
  readonly proxy: FaultProxy;
  /** host:port of the proxy: who comes by it stays on it. `kafka.brokers` goes straight to the broker. */
  readonly brokers: string;
  close(): Promise<void>;
}

export async function startKafkaBehindProxy(options: { readonly dataDir: string }): Promise<KafkaBehindProxy> {
  const port = await freePort();
  const proxy = await startFaultProxy({ target: { host: '127.0.0.1', port }, protocol: 'kafka' });
  try {
    const extraListener = { port, advertisedPort: proxy.port };
    const kafka = await startKafka({ dataDir: options.dataDir, extraListener });
    return {
      kafka,
      proxy,
      brokers: `${proxy.host}:${proxy.port}`,
      async close() {
        await Promise.all([kafka.stop(), proxy.close()]);
      },
    };
  } catch (error) {
    await proxy.close();
    throw error;
  }
}
