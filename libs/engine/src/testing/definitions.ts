/** Definitions that suites of the engine and of stores share. JSON text, as it is published. */

export const chain = JSON.stringify({
  id: 'chain',
  version: 1,
  nodes: [
    { id: 'a', type: 'task', queue: 'work', input: { from: '${input}' }, compensate: { task: 'undo.a' } },
    { id: 'b', type: 'task', queue: 'work', after: ['a'], input: { from: '${nodes.a.output}' } },
    { id: 'c', type: 'task', queue: 'work', after: ['b'], retry: { maxAttempts: 1 } },
  ],
  output: { end: '${nodes.c.output}' },
});

export const diamond = JSON.stringify({
  id: 'diamond',
  version: 1,
  nodes: [
    { id: 'top', type: 'task', queue: 'work', compensate: { task: 'undo.top' } },
    { id: 'left', type: 'task', queue: 'left', after: ['top'], compensate: { task: 'undo.left' } },
    { id: 'right', type: 'task', queue: 'right', after: ['top'], retry: { maxAttempts: 2, initialInterval: 'PT1S' } },
    { id: 'wait', type: 'wait', signal: 'go', after: ['top'], timeout: 'PT1H' },
    { id: 'bottom', type: 'task', queue: 'work', after: ['left', 'right', 'wait'], retry: { maxAttempts: 1 } },
  ],
});

export const single = JSON.stringify({
  id: 'single',
  version: 1,
  nodes: [{ id: 'only', type: 'task', queue: 'work', retry: { maxAttempts: 1 } }],
});
