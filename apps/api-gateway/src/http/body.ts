import { checkPayload, jsonPointer, type JsonMember, MAX_JSON_DEPTH, parseJson } from '@baton/core';
import { ApiError, type ErrorDetail } from '@baton/wire';
import type { z } from 'zod';
import { HttpProblem, invalid } from './problem.js';
import type { RequestBody } from './request-context.js';
import { toDetails } from './zod-details.js';

/** Members that are somebody's data: passed on as raw text, byte for byte, never as numbers and objects (B70). */
export interface JsonBody<T> {
  readonly fields: T;
  readonly raw: ReadonlyMap<string, string>;
}

export interface JsonBodySpec<T> {
  /** Strict object of everything but the raw members. */
  readonly schema: z.ZodType<T>;
  readonly raw: readonly string[];
  /** An empty body counts as {}. */
  readonly optional: boolean;
}

const JSON_TYPES = /^application\/(json|[\w.+-]+\+json)$/;
const YAML_TYPES = /^(application|text)\/(x-)?yaml$/;
/** A payload may be MAX_JSON_DEPTH deep, and stands one level down in its body. */
const BODY_DEPTH = MAX_JSON_DEPTH + 1;

export function readJsonBody<T>(body: RequestBody | undefined, spec: JsonBodySpec<T>): JsonBody<T> {
  const text = readText(body, { types: [JSON_TYPES], wanted: 'application/json', optional: spec.optional });
  const members = readMembers(text ?? '{}');
  const details: ErrorDetail[] = [];
  const raw = new Map<string, string>();
  const fields: Record<string, unknown> = {};
  const source = text ?? '{}';
  for (const { key, value } of members) {
    const slice = source.slice(value.start, value.end);
    if (spec.raw.includes(key)) raw.set(key, checked(key, slice));
    else Object.defineProperty(fields, key, { value: JSON.parse(slice), enumerable: true, configurable: true });
  }
  details.push(...duplicateKeys(members));
  const parsed = spec.schema.safeParse(fields);
  if (!parsed.success) details.push(...toDetails(parsed.error, ''));
  if (details.length > 0 || !parsed.success) throw invalid(details);
  return { fields: parsed.data, raw };
}

/** The text of a definition: JSON or YAML, for the registry to judge. */
export function readDefinitionText(body: RequestBody | undefined): string {
  const types = [JSON_TYPES, YAML_TYPES];
  const text = readText(body, { types, wanted: 'application/json or application/yaml', optional: false });
  return text ?? '';
}

interface TextRules {
  readonly types: readonly RegExp[];
  readonly wanted: string;
  readonly optional: boolean;
}

function readText(body: RequestBody | undefined, rules: TextRules): string | undefined {
  if (body === undefined || body.bytes.length === 0) {
    if (rules.optional) return undefined;
    throw new HttpProblem(400, 'BODY_REQUIRED', `the request needs a body of type ${rules.wanted}`);
  }
  const { mediaType } = body;
  if (mediaType === undefined || !rules.types.some((type) => type.test(mediaType))) {
    const found = mediaType === undefined ? 'no content type' : mediaType;
    throw new HttpProblem(415, 'UNSUPPORTED_MEDIA_TYPE', `${found}; send ${rules.wanted}`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body.bytes);
  } catch {
    throw new ApiError('invalid', 'BAD_UTF8', 'the body is not valid UTF-8');
  }
}

const FAULT_CODES = {
  NOT_JSON: 'MALFORMED_JSON',
  TOO_DEEP: 'PAYLOAD_TOO_DEEP',
  NUL: 'PAYLOAD_NUL',
  SURROGATE: 'PAYLOAD_SURROGATE',
} as const;

function readMembers(text: string): readonly JsonMember[] {
  const parsed = parseJson(text, BODY_DEPTH);
  if (!parsed.ok) {
    const { code, message, at } = parsed.fault;
    throw new ApiError('invalid', FAULT_CODES[code], `${message} (at character ${at} of the body)`);
  }
  if (parsed.root.kind !== 'object') throw new ApiError('invalid', 'MALFORMED_JSON', 'the body must be a JSON object');
  return parsed.root.members;
}

function checked(key: string, text: string): string {
  const check = checkPayload(text);
  if (check.ok) return text;
  const kind = check.code === 'PAYLOAD_TOO_LARGE' ? 'too-large' : 'invalid';
  const detail = { pointer: jsonPointer([key]), code: check.code, message: check.message };
  throw new ApiError(kind, check.code, `${key}: ${check.message}`, [detail]);
}

/** Which of two values counts would depend on the parser. */
function duplicateKeys(members: readonly JsonMember[]): ErrorDetail[] {
  const seen = new Set<string>();
  const details: ErrorDetail[] = [];
  for (const { key } of members) {
    if (seen.has(key)) details.push({ pointer: jsonPointer([key]), code: 'DUPLICATE_KEY', message: 'stands twice' });
    seen.add(key);
  }
  return details;
}
