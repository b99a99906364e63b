/** Largest payload (input, output, signal) in bytes of UTF-8. */
export const MAX_PAYLOAD_BYTES = 1_048_576;

/** Deepest nesting of arrays and objects in any JSON text that enters the system. */
export const MAX_JSON_DEPTH = 100;
