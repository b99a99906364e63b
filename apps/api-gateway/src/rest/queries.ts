import { z } from 'zod';
import { queryBoolean, queryNumber } from '../http/query.js';
import { definitionId, pathVersion, runStatus } from './schemas.js';

const cursor = z.string().min(1).max(1_000);

export const noQuery = z.strictObject({});

export const listRunsQuery = z.strictObject({
  pageSize: queryNumber(1, 100).optional(),
  cursor: cursor.optional(),
  status: z.array(runStatus).max(8).optional(),
  definitionId: definitionId.optional(),
  definitionVersion: pathVersion.optional(),
  businessKey: z.string().min(1).max(255).optional(),
});

export const getRunQuery = z.strictObject({ payloads: queryBoolean.optional() });
export const resultQuery = z.strictObject({ waitMs: queryNumber(0, 60_000).optional() });
export const historyQuery = z.strictObject({
  afterSeq: queryNumber(0, Number.MAX_SAFE_INTEGER).optional(),
  pageSize: queryNumber(1, 1_000).optional(),
});

export const publishQuery = z.strictObject({ deploy: queryBoolean.optional() });
export const listDefinitionsQuery = z.strictObject({
  pageSize: queryNumber(1, 100).optional(),
  cursor: cursor.optional(),
});
