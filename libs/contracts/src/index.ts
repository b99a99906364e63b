export * as workerV1 from './generated/baton/worker/v1/worker.js';
export * as runV1 from './generated/baton/run/v1/run.js';
export * as internalV1 from './generated/baton/internal/v1/internal.js';
export * as registryV1 from './generated/baton/registry/v1/registry.js';
