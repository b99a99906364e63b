import type { registryV1 } from '@baton/contracts';
import type { DefinitionIssue } from '@baton/core';
import { AllowRoles, principalOf } from '@baton/platform';
import { ApiError, Problems } from '@baton/wire';
import type { Metadata } from '@grpc/grpc-js';
import { Controller, Inject } from '@nestjs/common';
import { GrpcMethod } from '@nestjs/microservices';
import { type DefinitionRef, DefinitionStore, type StoredDefinition } from '../storage/definition-store.js';
import { type CheckedDefinition, DefinitionChecker } from '../validation/definition-checker.js';

const SERVICE = 'RegistryService';
const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 100;

@Controller()
@AllowRoles('client')
export class RegistryController {
  constructor(
    @Inject(DefinitionStore) private readonly store: DefinitionStore,
    @Inject(DefinitionChecker) private readonly checker: DefinitionChecker,
  ) {}

  @GrpcMethod(SERVICE, 'PublishDefinition')
  async publish(
    request: registryV1.PublishDefinitionRequest,
    metadata: Metadata,
  ): Promise<registryV1.PublishDefinitionResponse> {
    const { namespace } = principalOf(metadata);
    const { definition, issues } = this.checker.check(request.spec);
    if (definition === undefined) throw invalidDefinition(issues);
    const { stored, created } = await this.store.publish(newDefinition(namespace, definition), !request.noDeploy);
    return { definition: toProto(stored), created, issues: issues.map(issueToProto) };
  }

  @GrpcMethod(SERVICE, 'ValidateDefinition')
  validate(request: registryV1.ValidateDefinitionRequest): registryV1.ValidateDefinitionResponse {
    const { definition, issues } = this.checker.check(request.spec);
    return { valid: definition !== undefined, issues: issues.map(issueToProto) };
  }

  @GrpcMethod(SERVICE, 'GetDefinition')
  async get(request: registryV1.GetDefinitionRequest, metadata: Metadata): Promise<registryV1.GetDefinitionResponse> {
    const { namespace } = principalOf(metadata);
    const { id, version } = readRef(namespace, request, { versionRequired: false });
    const stored =
      version === 0 ? await this.store.deployed(namespace, id) : await this.store.get({ namespace, id, version });
    return { definition: toProto(stored) };
  }

  @GrpcMethod(SERVICE, 'ListDefinitions')
  async list(
    request: registryV1.ListDefinitionsRequest,
    metadata: Metadata,
  ): Promise<registryV1.ListDefinitionsResponse> {
    const { namespace } = principalOf(metadata);
    const problems = new Problems();
    if (request.id !== '') problems.definitionId('/id', request.id);
    if (request.pageSize < 0 || request.pageSize > MAX_PAGE_SIZE) {
      problems.add('/page_size', 'OUT_OF_RANGE', `page_size must be from 1 to ${MAX_PAGE_SIZE}`);
    }
    problems.text('/cursor', request.cursor, 1_000);
    problems.throwIfAny();
    const page = await this.store.list({
      namespace,
      id: request.id === '' ? undefined : request.id,
      pageSize: request.pageSize === 0 ? DEFAULT_PAGE_SIZE : request.pageSize,
      cursor: request.cursor,
    });
    return { definitions: page.definitions.map(toProto), nextCursor: page.nextCursor ?? '' };
  }

  @GrpcMethod(SERVICE, 'DeployDefinition')
  async deploy(
    request: registryV1.DeployDefinitionRequest,
    metadata: Metadata,
  ): Promise<registryV1.DeployDefinitionResponse> {
    const ref = readRef(principalOf(metadata).namespace, request, { versionRequired: true });
    return { definition: toProto(await this.store.deploy(ref)) };
  }

  @GrpcMethod(SERVICE, 'DeleteDefinition')
  async delete(
    request: registryV1.DeleteDefinitionRequest,
    metadata: Metadata,
  ): Promise<registryV1.DeleteDefinitionResponse> {
    await this.store.delete(readRef(principalOf(metadata).namespace, request, { versionRequired: true }));
    return {};
  }
}

function readRef(
  namespace: string,
  request: { readonly id: string; readonly version: number },
  rules: { readonly versionRequired: boolean },
): DefinitionRef {
  const problems = new Problems();
  const id = problems.definitionId('/id', request.id);
  const version = problems.count('/version', request.version);
  if (rules.versionRequired && version === 0) problems.add('/version', 'REQUIRED', 'version is required');
  problems.throwIfAny();
  return { namespace, id, version };
}

function newDefinition(namespace: string, { dag, spec, contentHash }: CheckedDefinition) {
  return { namespace, id: dag.definitionId, version: dag.version, spec, contentHash };
}

function invalidDefinition(issues: readonly DefinitionIssue[]): ApiError {
  const errors = issues.filter((issue) => issue.severity === 'error');
  const details = errors.map(({ pointer, code, message }) => ({ pointer, code, message }));
  const count = errors.length === 1 ? '1 error' : `${errors.length} errors`;
  return new ApiError('invalid', 'DEFINITION_INVALID', `the definition has ${count}`, details);
}

function toProto(stored: StoredDefinition): registryV1.Definition {
  return {
    namespace: stored.namespace,
    id: stored.id,
    version: stored.version,
    contentHash: stored.contentHash,
    deployed: stored.deployed,
    createdAt: stored.createdAt.toISOString(),
    spec: stored.spec ?? '',
  };
}

function issueToProto({ severity, code, message, pointer }: DefinitionIssue): registryV1.Issue {
  return { severity, code, message, pointer };
}
