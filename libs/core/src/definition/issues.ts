import type { PathSegment } from '../json/path.js';
import { jsonPointer } from '../json/path.js';
import type { DefinitionIssue } from './model.js';

/** Stable codes of findings about a definition; documented, so none is ever renamed. */
export type IssueCode =
  | 'NOT_JSON'
  | 'TOO_LARGE'
  | 'TOO_DEEP'
  | 'WRONG_TYPE'
  | 'MISSING_FIELD'
  | 'UNKNOWN_FIELD'
  | 'DUPLICATE_FIELD'
  | 'INVALID_NAME'
  | 'INVALID_VALUE'
  | 'OUT_OF_RANGE'
  | 'BAD_DURATION'
  | 'NOT_AVAILABLE'
  | 'NO_NODES'
  | 'TOO_MANY_NODES'
  | 'TOO_MANY_EDGES'
  | 'DUPLICATE_ID'
  | 'DUPLICATE_EDGE'
  | 'UNKNOWN_NODE'
  | 'SELF_REFERENCE'
  | 'CYCLE'
  | 'UNREACHABLE'
  | 'NOT_UPSTREAM'
  | 'TOO_MANY_ISSUES';

/** No answer lists more: who has this many findings has one cause. */
const MAX_ISSUES = 500;

/** Findings in the order of the checks. */
export class IssueList {
  readonly errors: DefinitionIssue[] = [];
  readonly warnings: DefinitionIssue[] = [];

  error(code: IssueCode, path: readonly PathSegment[], message: string): void {
    this.add('error', code, jsonPointer(path), message);
  }

  /** `code` and `pointer` as another part gives them (the template compiler). */
  add(severity: DefinitionIssue['severity'], code: string, pointer: string, message: string): void {
    const list = severity === 'error' ? this.errors : this.warnings;
    if (list.length < MAX_ISSUES) {
      list.push({ severity, code, message, pointer });
    } else if (list.length === MAX_ISSUES) {
      list.push({ severity, code: 'TOO_MANY_ISSUES', message: `more than ${MAX_ISSUES} findings`, pointer: '' });
    }
  }
}
