import { type Client, connectivityState } from '@grpc/grpc-js';

const PROBE_MS = 1_500;

/** Why there is no connection; undefined = there is one. Waits a moment for a connection that is being made. */
export async function whyNotConnected(client: Client, addresses: readonly string[]): Promise<string | undefined> {
  if (client.getChannel().getConnectivityState(true) === connectivityState.READY) return undefined;
  return new Promise((resolve) => {
    client.waitForReady(Date.now() + PROBE_MS, (error) => {
      resolve(error === undefined ? undefined : `no connection to ${addresses.join(', ')}`);
    });
  });
}
