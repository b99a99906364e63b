import { jsonPointer, type PathSegment } from '@baton/core';
import type { ErrorDetail } from '@baton/wire';
import type { z } from 'zod';

/** zod's findings with stable codes and JSON pointers. `prefix` says where: '' = the body, '/query', '/path', '/header'. */
export function toDetails(error: z.ZodError, prefix: string): ErrorDetail[] {
  const details = error.issues.flatMap((issue) => fromIssue(issue, prefix));
  // One mistake may break two rules of a schema; callers need to hear of it once.
  return [...new Map(details.map((detail) => [`${detail.pointer} ${detail.code}`, detail])).values()];
}

type Issue = z.core.$ZodIssue;

function fromIssue(issue: Issue, prefix: string): ErrorDetail[] {
  const path = issue.path.map((segment): PathSegment => (typeof segment === 'symbol' ? String(segment) : segment));
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      pointer: prefix + jsonPointer([...path, key]),
      code: prefix === '/query' ? 'UNKNOWN_PARAMETER' : 'UNKNOWN_FIELD',
      message: 'is not known here',
    }));
  }
  return [{ pointer: prefix + jsonPointer(path), code: codeOf(issue), message: messageOf(issue) }];
}

function codeOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return isMissing(issue) ? 'REQUIRED' : 'WRONG_TYPE';
    case 'too_big':
      return issue.origin === 'string' ? 'TOO_LONG' : 'OUT_OF_RANGE';
    case 'too_small':
      return issue.origin === 'string' ? 'TOO_SHORT' : 'OUT_OF_RANGE';
    case 'invalid_format':
      return issue.format === 'uuid' || issue.format === 'guid' ? 'NOT_A_UUID' : 'BAD_FORMAT';
    case 'invalid_value':
      return 'NOT_ALLOWED';
    default:
      return 'INVALID';
  }
}

function isMissing(issue: Issue): boolean {
  return issue.code === 'invalid_type' && /received undefined$/.test(issue.message);
}

function messageOf(issue: Issue): string {
  return isMissing(issue) ? 'is required' : issue.message;
}
