import { z } from 'zod';

/** The shapes of the REST API: requests are checked with them, the OpenAPI document is made from them. */

const text = (max: number) => z.string().min(1).max(max);
const key = text(255);
const MAX_INT32 = 2_147_483_647;

export const definitionId = z
  .string()
  .regex(/^[a-z0-9_-]{1,63}$/, 'must match [a-z0-9_-]{1,63}')
  .meta({ example: 'order-fulfilment' });
export const version = z.int().min(1).max(MAX_INT32);
export const pathVersion = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, 'must be a version number')
  .transform(Number)
  .refine((value) => value <= MAX_INT32, `must be at most ${MAX_INT32}`);
export const runId = z.guid('must be a UUID').transform((id) => id.toLowerCase());
export const signalName = text(200);
export const instant = z.iso.datetime({ offset: true, message: 'must be an instant such as 2026-01-31T12:00:00Z' });

export const RUN_STATUSES = [
  'RUNNING',
  'COMPENSATING',
  'SUCCEEDED',
  'FAILED',
  'COMPENSATED',
  'COMPENSATION_FAILED',
  'EXPIRED',
  'CANCELLED',
] as const;
export const runStatus = z.enum(RUN_STATUSES);

// ---------------------------------------------------------------- requests

/** Members that are payloads (`input`, `payload`) are taken out before and kept as raw text. */
export const startRunFields = z.strictObject({
  definitionId,
  definitionVersion: version.optional(),
  runId: z.guid('must be a UUID').optional(),
  idempotencyKey: key.optional(),
  businessKey: key.optional(),
  startNodeId: text(64).optional(),
  startedAt: instant.optional(),
});

export const signalFields = z.strictObject({
  signalId: key.optional(),
  expiresInMs: z.int().min(1).max(8_640_000_000_000_000).optional(),
});

export const cancelFields = z.strictObject({
  reason: z.string().max(1_000).optional(),
  requestId: key.optional(),
});

export const retryFields = z.strictObject({
  fromNodeId: text(64).optional(),
  definitionVersion: z.union([version, z.literal('deployed')]).optional(),
  requestId: key.optional(),
});

export const retryCompensationFields = z.strictObject({ requestId: key.optional() });

export type StartRunFields = z.infer<typeof startRunFields>;
export type SignalFields = z.infer<typeof signalFields>;
export type CancelFields = z.infer<typeof cancelFields>;
export type RetryFields = z.infer<typeof retryFields>;
export type RetryCompensationFields = z.infer<typeof retryCompensationFields>;

// ---------------------------------------------------------------- answers

const anyJson = z.unknown().meta({ description: 'Any JSON value, byte for byte as it was sent' });

export const failure = z
  .object({ code: z.string(), message: z.string(), nodeId: z.string().nullable() })
  .meta({ id: 'Failure' });

export const run = z
  .object({
    runId: z.string(),
    namespace: z.string(),
    definitionId: z.string(),
    definitionVersion: z.int(),
    status: runStatus,
    cause: z.enum(['failure', 'cancel', 'deadline']).nullable(),
    compensation: z.enum(['NONE', 'CLEAN', 'FAILED']),
    epoch: z.int(),
    failure: failure.nullable(),
    startedAt: z.string(),
    endedAt: z.string().nullable(),
    businessKey: z.string().nullable(),
    stuckReason: z.string().nullable(),
  })
  .meta({ id: 'Run' });

export const task = z
  .object({
    taskId: z.string(),
    nodeId: z.string(),
    item: z.int(),
    kind: z.enum(['forward', 'compensate']),
    generation: z.int(),
    status: z.string(),
    attempt: z.int(),
    failures: z.int(),
    losses: z.int(),
    unknownOutcome: z.boolean(),
    failure: failure.nullable(),
    leaseOwner: z.string().nullable(),
    createdAt: z.string(),
    settledAt: z.string().nullable(),
    input: anyJson.optional(),
    output: anyJson.optional(),
  })
  .meta({ id: 'Task' });

export const runDetails = z
  .object({
    run,
    tasks: z.array(task),
    bufferedSignals: z.array(z.object({ signalId: z.string(), name: z.string(), receivedAt: z.string() })),
    input: anyJson.optional(),
    output: anyJson.optional(),
  })
  .meta({ id: 'RunDetails' });

export const runPage = z.object({ runs: z.array(run), nextCursor: z.string().optional() }).meta({ id: 'RunPage' });

export const runResult = z.object({ run, finished: z.boolean(), output: anyJson.optional() }).meta({ id: 'RunResult' });

export const runStarted = z
  .object({ runId: z.string(), created: z.boolean(), status: runStatus })
  .meta({ id: 'RunStarted' });

export const signalAccepted = z
  .object({ delivered: z.boolean(), duplicate: z.boolean(), signalId: z.string() })
  .meta({ id: 'SignalAccepted' });

export const runRetried = z
  .object({ epoch: z.int(), status: runStatus, duplicate: z.boolean() })
  .meta({ id: 'RunRetried' });

export const runCancelled = z.object({ status: runStatus, duplicate: z.boolean() }).meta({ id: 'RunCancelled' });

export const historyPage = z
  .object({
    entries: z.array(
      z.object({
        seq: z.int(),
        epoch: z.int(),
        kind: z.string(),
        nodeId: z.string().nullable(),
        taskId: z.string().nullable(),
        taskKind: z.string().nullable(),
        attempt: z.int().nullable(),
        code: z.string().nullable(),
        detail: z.string().nullable(),
        at: z.string(),
      }),
    ),
    nextAfterSeq: z.int().optional(),
  })
  .meta({ id: 'HistoryPage' });

export const definitionIssue = z
  .object({ severity: z.enum(['error', 'warning']), code: z.string(), message: z.string(), pointer: z.string() })
  .meta({ id: 'DefinitionIssue' });

export const definition = z
  .object({
    namespace: z.string(),
    id: z.string(),
    version: z.int(),
    contentHash: z.string(),
    deployed: z.boolean(),
    createdAt: z.string(),
    spec: anyJson.optional(),
  })
  .meta({ id: 'Definition' });

export const definitionPage = z
  .object({ definitions: z.array(definition), nextCursor: z.string().optional() })
  .meta({ id: 'DefinitionPage' });

export const definitionPublished = z
  .object({ definition, created: z.boolean(), issues: z.array(definitionIssue) })
  .meta({ id: 'DefinitionPublished' });

export const definitionChecked = z
  .object({ valid: z.boolean(), issues: z.array(definitionIssue) })
  .meta({ id: 'DefinitionChecked' });

export const definitionDeleted = z
  .object({ id: z.string(), version: z.int(), deleted: z.literal(true) })
  .meta({ id: 'DefinitionDeleted' });

export const openApiDocument = z.looseObject({ openapi: z.string() });

export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.string(),
    requestId: z.string(),
    retryable: z.boolean(),
    errors: z.array(z.object({ pointer: z.string(), code: z.string(), message: z.string() })),
  })
  .meta({ id: 'Problem' });
