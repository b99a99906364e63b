/** R28: namespaces and queues are parts of topic names: no dots. */
const LABEL = /^[a-z0-9-]{1,63}$/;
const DEFINITION_ID = /^[a-z0-9_-]{1,63}$/;
/** B87. */
const NODE_ID = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const HANDLER = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;

/** Names that every object seems to have: a node called so would be found where there is none (B87). */
const RESERVED_NODE_IDS: ReadonlySet<string> = new Set([
  'constructor',
  'hasOwnProperty',
  'isPrototypeOf',
  'propertyIsEnumerable',
  'prototype',
  'toLocaleString',
  'toString',
  'valueOf',
]);

export function isNamespace(name: string): boolean {
  return LABEL.test(name);
}

export function isQueueName(name: string): boolean {
  return LABEL.test(name);
}

export function isDefinitionId(name: string): boolean {
  return DEFINITION_ID.test(name);
}

export function isNodeId(name: string): boolean {
  return NODE_ID.test(name) && !RESERVED_NODE_IDS.has(name);
}

/** Handlers and signals. */
export function isHandlerName(name: string): boolean {
  return HANDLER.test(name);
}
