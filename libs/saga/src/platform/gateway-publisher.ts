import type { JsonText } from '@baton/core';
import type { DefinitionPublisher, PublishedOtherwise } from '../definition/publish-sagas.js';
import { SagaError } from '../journal/errors.js';
import { segment, type GatewayApi } from './gateway-api.js';

interface SentDefinition {
  readonly version: number;
  readonly spec: unknown;
}

/** The registry of the platform, through the gateway: what it has published never changes there either. */
export class GatewayPublisher implements DefinitionPublisher {
  constructor(private readonly api: GatewayApi) {}

  async publish(_namespace: string, definitions: Parameters<DefinitionPublisher['publish']>[1]) {
    const changed: PublishedOtherwise[] = [];
    // Older versions first: each publication deploys what it makes.
    for (const { id, version, spec } of definitions.toSorted((a, b) => a.version - b.version)) {
      if (await this.isNew(id, version, spec)) continue;
      const published = await this.read(id, version);
      changed.push({ id, version, published, ours: spec });
    }
    return changed;
  }

  /** undefined = nothing of this id is deployed. */
  async deployedVersion(_namespace: string, id: string): Promise<number | undefined> {
    try {
      return (await this.api.call<SentDefinition>({ method: 'GET', path: `/v1/definitions/${segment(id)}` })).version;
    } catch (error) {
      if (error instanceof SagaError && error.kind === 'not-found') return undefined;
      throw error;
    }
  }

  /** false = other content has this version. */
  private async isNew(id: string, version: number, spec: JsonText): Promise<boolean> {
    const deployed = await this.deployedVersion('', id);
    // A process that starts late must not roll a newer version back.
    const deploy = deployed === undefined || deployed < version;
    try {
      await this.api.call({ method: 'POST', path: '/v1/definitions', query: { deploy }, body: spec });
      return true;
    } catch (error) {
      if (error instanceof SagaError && error.code === 'DEFINITION_VERSION_EXISTS') return false;
      throw error;
    }
  }

  private async read(id: string, version: number): Promise<JsonText> {
    const path = `/v1/definitions/${segment(id)}/versions/${version}`;
    return JSON.stringify((await this.api.call<SentDefinition>({ method: 'GET', path })).spec);
  }
}
