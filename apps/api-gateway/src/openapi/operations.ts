import type { z } from 'zod';
import type { RouteKey } from '../http/routes.js';
import * as query from '../rest/queries.js';
import * as shape from '../rest/schemas.js';
import type { Reference } from './document.js';

type Json = Record<string, unknown>;

interface Answer {
  readonly status: number;
  readonly about: string;
  readonly schema: z.ZodType;
}

type DescribeBody = (reference: Reference, components: Json) => Json;

/** What the document says about a route. */
export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly query?: z.ZodType;
  readonly body?: DescribeBody;
  readonly idempotency?: string;
  readonly answers: readonly Answer[];
  readonly problem: z.ZodType;
}

const problem = shape.problem;
const answer = (schema: z.ZodType, about = 'OK', status = 200): Answer => ({ status, about, schema });

/** A strict object plus members that hold any JSON. */
function jsonBody(fields: z.ZodType, payloads: Readonly<Record<string, string>>, required: boolean): DescribeBody {
  return (reference, components) => {
    const schema = reference(fields, components);
    const extra = Object.fromEntries(Object.entries(payloads).map(([name, description]) => [name, { description }]));
    const properties = { ...(schema['properties'] as Json), ...extra };
    return { required, content: { 'application/json': { schema: { ...schema, properties } } } };
  };
}

const definitionBody: DescribeBody = () => ({
  required: true,
  description: 'The definition itself, as JSON or YAML',
  content: { 'application/json': { schema: { type: 'object' } }, 'application/yaml': { schema: { type: 'string' } } },
});

const SAME_EFFECT = 'The same key has one effect; the answer to a repetition carries Idempotency-Replayed: true';

type Unnamed = Omit<Operation, 'id'>;

const cancel: Unnamed = {
  summary: 'Cancel a run; completed steps are undone',
  body: jsonBody(shape.cancelFields, {}, false),
  idempotency: SAME_EFFECT,
  answers: [answer(shape.runCancelled)],
  problem,
};

const retry: Unnamed = {
  summary: 'Retry a run that failed, was cancelled or expired, from a node, with another version or input',
  body: jsonBody(shape.retryFields, { input: 'New input of the run; absent = keep it' }, false),
  idempotency: SAME_EFFECT,
  answers: [answer(shape.runRetried)],
  problem,
};

const retryCompensation: Unnamed = {
  summary: 'Run the undo tasks that failed again',
  body: jsonBody(shape.retryCompensationFields, {}, false),
  idempotency: SAME_EFFECT,
  answers: [answer(shape.runRetried)],
  problem,
};

const deploy: Unnamed = {
  summary: 'Make this version the one that new runs take',
  answers: [answer(shape.definition)],
  problem,
};

const slashForm = (operation: Unnamed, id: string): Operation => ({ ...operation, id });

export const OPERATIONS: Readonly<Record<RouteKey, Operation>> = {
  'POST /v1/definitions': {
    id: 'publishDefinition',
    summary: 'Publish a version of a definition',
    query: query.publishQuery,
    body: definitionBody,
    answers: [
      answer(shape.definitionPublished, 'Published', 201),
      answer(shape.definitionPublished, 'This version exists with the same content'),
    ],
    problem,
  },
  'GET /v1/definitions': {
    id: 'listDefinitions',
    summary: 'Definitions: of each id the latest and the deployed version',
    query: query.listDefinitionsQuery,
    answers: [answer(shape.definitionPage)],
    problem,
  },
  'POST /v1/definitions:validate': {
    id: 'validateDefinition',
    summary: 'Everything that is wrong with a definition, without publishing it',
    body: definitionBody,
    answers: [answer(shape.definitionChecked)],
    problem,
  },
  'GET /v1/definitions/{definitionId}': {
    id: 'getDeployedDefinition',
    summary: 'The deployed version',
    answers: [answer(shape.definition)],
    problem,
  },
  'GET /v1/definitions/{definitionId}/versions': {
    id: 'listDefinitionVersions',
    summary: 'Versions of a definition, newest first',
    query: query.listDefinitionsQuery,
    answers: [answer(shape.definitionPage)],
    problem,
  },
  'GET /v1/definitions/{definitionId}/versions/{version}': {
    id: 'getDefinitionVersion',
    summary: 'One version',
    answers: [answer(shape.definition)],
    problem,
  },
  'DELETE /v1/definitions/{definitionId}/versions/{version}': {
    id: 'deleteDefinitionVersion',
    summary: 'Hide a version; runs in flight keep it',
    answers: [answer(shape.definitionDeleted)],
    problem,
  },
  'POST /v1/definitions/{definitionId}/versions/{version}:deploy': { ...deploy, id: 'deployDefinition' },
  'POST /v1/definitions/{definitionId}/versions/{version}/deploy': slashForm(deploy, 'deployDefinitionBySlash'),
  'POST /v1/runs': {
    id: 'startRun',
    summary: 'Start a run',
    body: jsonBody(shape.startRunFields, { input: 'Input of the run: any JSON, kept byte for byte' }, true),
    idempotency: 'The same key starts one run; with another request it is refused (422 IDEMPOTENCY_MISMATCH)',
    answers: [
      answer(shape.runStarted, 'Started', 201),
      answer(shape.runStarted, 'This key or run id started it already, with the same request'),
    ],
    problem,
  },
  'GET /v1/runs': {
    id: 'listRuns',
    summary: 'Runs, newest first, without payloads',
    query: query.listRunsQuery,
    answers: [answer(shape.runPage)],
    problem,
  },
  'GET /v1/runs/{runId}': {
    id: 'getRun',
    summary: 'A run with its tasks',
    query: query.getRunQuery,
    answers: [answer(shape.runDetails)],
    problem,
  },
  'GET /v1/runs/{runId}/result': {
    id: 'getRunResult',
    summary: 'Waits until the run has ended, at most waitMs',
    query: query.resultQuery,
    answers: [answer(shape.runResult)],
    problem,
  },
  'GET /v1/runs/{runId}/history': {
    id: 'getRunHistory',
    summary: 'What happened to a run, in order',
    query: query.historyQuery,
    answers: [answer(shape.historyPage)],
    problem,
  },
  'POST /v1/runs/{runId}/signals/{name}': {
    id: 'signalRun',
    summary: 'Send a signal; it is kept until a wait takes it',
    body: jsonBody(shape.signalFields, { payload: 'Any JSON, kept byte for byte' }, false),
    idempotency: 'The id of the signal, if the body has none',
    answers: [answer(shape.signalAccepted)],
    problem,
  },
  'POST /v1/runs/{runId}:cancel': { ...cancel, id: 'cancelRun' },
  'POST /v1/runs/{runId}/cancel': slashForm(cancel, 'cancelRunBySlash'),
  'POST /v1/runs/{runId}:retry': { ...retry, id: 'retryRun' },
  'POST /v1/runs/{runId}/retry': slashForm(retry, 'retryRunBySlash'),
  'POST /v1/runs/{runId}:retry-compensation': { ...retryCompensation, id: 'retryCompensation' },
  'POST /v1/runs/{runId}/retry-compensation': slashForm(retryCompensation, 'retryCompensationBySlash'),
  'GET /openapi.json': {
    id: 'getOpenApi',
    summary: 'This document',
    answers: [answer(shape.openApiDocument)],
    problem,
  },
};
