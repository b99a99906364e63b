import { registryV1 } from '@baton/contracts';
import { grpcClientOptions, grpcTarget, insecureCredentials } from '@baton/platform';
import { whyNotConnected } from './connection.js';
import { CALL_TIMEOUT_MS, callUnary, type CallContext } from './unary.js';

/** RegistryService. Publishing and deploying the same thing twice has one effect, so every call may be repeated. */
export class RegistryClient {
  private readonly client: registryV1.RegistryServiceClient;

  constructor(private readonly addresses: readonly string[]) {
    const options = grpcClientOptions({ service: 'baton.registry.v1.RegistryService', retryUnavailable: true });
    this.client = new registryV1.RegistryServiceClient(grpcTarget(addresses), insecureCredentials(), options);
  }

  whyNotConnected(): Promise<string | undefined> {
    return whyNotConnected(this.client, this.addresses);
  }

  publish(
    request: registryV1.PublishDefinitionRequest,
    context: CallContext,
  ): Promise<registryV1.PublishDefinitionResponse> {
    return callUnary(this.client.publishDefinition.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  validate(
    request: registryV1.ValidateDefinitionRequest,
    context: CallContext,
  ): Promise<registryV1.ValidateDefinitionResponse> {
    return callUnary(this.client.validateDefinition.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  get(request: registryV1.GetDefinitionRequest, context: CallContext): Promise<registryV1.GetDefinitionResponse> {
    return callUnary(this.client.getDefinition.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  list(request: registryV1.ListDefinitionsRequest, context: CallContext): Promise<registryV1.ListDefinitionsResponse> {
    return callUnary(this.client.listDefinitions.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  deploy(
    request: registryV1.DeployDefinitionRequest,
    context: CallContext,
  ): Promise<registryV1.DeployDefinitionResponse> {
    return callUnary(this.client.deployDefinition.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  delete(
    request: registryV1.DeleteDefinitionRequest,
    context: CallContext,
  ): Promise<registryV1.DeleteDefinitionResponse> {
    return callUnary(this.client.deleteDefinition.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  close(): void {
    this.client.close();
  }
}
