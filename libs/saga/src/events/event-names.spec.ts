import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunState } from '@baton/core';
import { PUBLISHED_JOURNAL_KINDS } from '@baton/core';
import { parseSagaEvent, sagaEventNameOf, sagaEventNames, sagaEventType } from './event-names.js';

const page = readFileSync(join(__dirname, '../../../../docs/reference/saga-events.md'), 'utf8');
const run = { runId: 'r1', namespace: 'shop', definitionId: 'order_v', definitionVersion: 3, epoch: 1 } as RunState;
const row = {
  type: 'Journal',
  seq: 7,
  kind: 'node.succeeded',
  nodeId: 'pay',
  taskId: 't',
  taskKind: 'forward',
} as const;
const entry = { ...row, attempt: 2, code: null, detail: 'not for others' };

describe('events of sagas', () => {
  it('W15: are named by saga and tell what orders them, and nothing that stays in the database', () => {
    const { type, payload } = sagaEventNames().describe(run, entry);
    expect(type).toBe('saga.order_v.step_completed');
    expect(JSON.parse(payload)).toEqual({
      ...{ instanceId: 'r1', definitionId: 'order_v', definitionVersion: 3, version: 7, epoch: 1 },
      ...{ step: 'pay', attempt: 2 },
    });
  });

  it('are read back as they were written', () => {
    const { type, payload } = sagaEventNames().describe(run, { ...entry, kind: 'node.failed', code: 'NO' });
    const event = parseSagaEvent(type, payload);
    expect(event).toMatchObject({ type, name: 'step_failed', definitionId: 'order_v' });
    expect(event?.name === 'step_failed' ? [event.payload.step, event.payload.code] : null).toEqual(['pay', 'NO']);
  });

  it.each([
    ['another type', 'run.started', '{}'],
    ['a name of a newer build', 'saga.order.step_paused', '{"instanceId":"r","definitionId":"order","version":1}'],
    ['no JSON', 'saga.order.started', '{'],
    ['no object', 'saga.order.started', '[]'],
    ['of another definition than it says', 'saga.order.started', '{"instanceId":"r","definitionId":"x","version":1}'],
    ['a step without its name', 'saga.order.step_failed', '{"instanceId":"r","definitionId":"order","version":1}'],
    ['far too large', 'saga.order.started', JSON.stringify('x'.repeat(70_000))],
  ])('%s is passed by: it is none', (_what, type, payload) => {
    expect(parseSagaEvent(type, payload)).toBeUndefined();
  });

  it('go to the topic of their namespace, or where they are sent', () => {
    expect(sagaEventNames().topic('shop')).toBe('baton.shop.events');
    expect(sagaEventNames({ topic: 'orders' }).topic('shop')).toBe('orders');
    expect(sagaEventNames({ topic: (namespace) => `${namespace}.sagas` }).topic('shop')).toBe('shop.sagas');
  });

  it('have types that never change, each described in the reference', () => {
    const names = [...PUBLISHED_JOURNAL_KINDS].map(sagaEventNameOf);
    const described = [...(page.split('## Payload')[0]?.matchAll(/^\| `([a-z_]+)` \| [A-Z]/gm) ?? [])].map(
      ([, name]) => name,
    );
    expect([...described].sort()).toEqual([...names].sort());
    expect(names.map((name) => (name === undefined ? '' : sagaEventType('order', name))).sort()).toEqual([
      ...['saga.order.cancelled', 'saga.order.compensated', 'saga.order.compensation_failed'],
      ...['saga.order.compensation_started', 'saga.order.expired', 'saga.order.failed', 'saga.order.reopened'],
      ...['saga.order.started', 'saga.order.step_compensated', 'saga.order.step_compensation_failed'],
      ...['saga.order.step_completed', 'saga.order.step_failed', 'saga.order.step_timed_out', 'saga.order.succeeded'],
    ]);
  });
});
