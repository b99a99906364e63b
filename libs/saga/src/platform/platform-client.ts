import type { SagaClient } from '../client/client.js';
import { EmbeddedSagaClient } from '../client/embedded-client.js';
import { SagaRegistry } from '../definition/registry.js';
import { systemClock, systemNewId } from '../executor/system-clock.js';
import { GatewayApi } from './gateway-api.js';
import { GatewayEngine } from './gateway-engine.js';
import { GatewayPublisher } from './gateway-publisher.js';
import type { PlatformClientOptions } from './options.js';

/** The same client over the gateway: it opens nothing, so there is nothing to close. */
export function createPlatformClient(options: PlatformClientOptions): SagaClient {
  const { platform, registry = new SagaRegistry([]), namespace = 'default' } = options;
  const api = new GatewayApi(platform);
  const engine = new GatewayEngine(api);
  const definitions = new GatewayPublisher(api);
  return new EmbeddedSagaClient({
    journal: engine,
    ...{ engine, namespace, resolver: registry },
    deployedVersion: (space, id) => definitions.deployedVersion(space, id),
    dispatcher: null,
    clock: systemClock,
    newId: systemNewId,
    close: () => Promise.resolve(),
  });
}
