/** Largest payload (input, output, signal) in bytes of UTF-8. */
export const MAX_PAYLOAD_BYTES = 1_048_576;

/** Deepest nesting of arrays and objects in any JSON text that enters the system. */
export const MAX_JSON_DEPTH = 100;

/** Largest text of a failure in UTF-16 units, as callers may send it; what is stored may be shorter. */
export const MAX_FAILURE_MESSAGE_CHARS = 8_192;
export const MAX_FAILURE_CODE_CHARS = 100;

/** Largest progress of an attempt in bytes of UTF-8. */
export const MAX_PROGRESS_BYTES = 16 * 1024;
