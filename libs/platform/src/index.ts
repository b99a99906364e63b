export { bootstrapService } from './bootstrap/bootstrap.js';
export { readConfig, startService } from './bootstrap/start.js';
export {
  ConfigError,
  type GrpcDefinition,
  type HttpDefinition,
  type ModuleSource,
  type Platform,
  type RunningService,
  type ServiceConfig,
  type ServiceDefinition,
} from './bootstrap/definition.js';
export { PLATFORM } from './bootstrap/platform-module.js';
export {
  addressListSetting,
  baseSettings,
  choiceSetting,
  coordinatorUrlSetting,
  countSetting,
  databaseUrlSetting,
  internalUrlSetting,
  kafkaBrokersSetting,
  portSetting,
  registryUrlSetting,
  wholeNumber,
  type BaseSettings,
} from './config/common.js';
export {
  describeConfig,
  loadConfig,
  setting,
  type ConfigOf,
  type ConfigProblem,
  type Environment,
  type Setting,
  type Settings,
} from './config/settings.js';
export { AuthError, requireRole, type Principal, type Role } from './auth/principal.js';
export { checkAuthSettings, createAuthVerifier, type AuthSettings, type AuthVerifier } from './auth/verifier.js';
export { KeyRing } from './auth/key-file.js';
export { AllowRoles, NoCredential, authorizationOf, principalOf } from './grpc/auth-guard.js';
export { callMetadata, grpcClientOptions, grpcTarget, insecureCredentials } from './grpc/client.js';
export { INTERNAL_ERROR, type GrpcErrorMapper, type GrpcErrorReply } from './grpc/errors.js';
export { GrpcErrorFilter } from './grpc/filter.js';
export { type ServiceMap } from './grpc/package-definition.js';
export { type GrpcEndpoint } from './grpc/server.js';
export { Readiness, type ReadinessCheck, type ReadinessReport } from './health/readiness.js';
export { Lifecycle, SHUTDOWN_PHASES, type ShutdownHook, type ShutdownPhase } from './lifecycle/lifecycle.js';
export { Loop, type LoopOptions, type LoopTurn } from './lifecycle/loop.js';
export { createLogger } from './logging/logger.js';
export { Metrics } from './metrics/metrics.js';
export type { Logger } from 'pino';
