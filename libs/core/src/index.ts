export { assertNever } from './assert-never.js';
export {
  MAX_FAILURE_CODE_CHARS,
  MAX_FAILURE_MESSAGE_CHARS,
  MAX_JSON_DEPTH,
  MAX_PAYLOAD_BYTES,
  MAX_PROGRESS_BYTES,
} from './json/limits.js';
export { storable } from './json/storable.js';
export { checkPayload, type PayloadCheck, type PayloadCode } from './json/check-payload.js';
export { findPath, jsonPointer, sliceByPath, type PathSegment } from './json/path.js';
export { parseJson, type JsonMember, type JsonNode, type JsonParse } from './json/parse.js';
export { canonicalJson } from './json/canonical.js';
export { utf8Length } from './json/utf8.js';
export { MAX_DEFINITION_BYTES, MAX_EDGES, MAX_NODES, parseDefinition } from './definition/parse.js';
export { parseDuration, type DurationParse } from './definition/duration.js';
export { isDefinitionId, isHandlerName, isNamespace, isNodeId, isQueueName } from './definition/names.js';
export { decide } from './run/decide.js';
export { evolve } from './run/evolve.js';
export { check, type Violation, type ViolationCode } from './run/check.js';
export { needsUndo } from './run/undo.js';
export { newRun, type NewRun } from './run/new-run.js';
export { PUBLISHED_JOURNAL_KINDS } from './run/journal-kinds.js';
export { isSettled, isTerminal } from './run/status.js';
export type * from './run/state.js';
export type * from './run/events.js';
export type * from './run/actions.js';
export type * from './run/decide-types.js';
export type * from './definition/model.js';
