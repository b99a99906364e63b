import type { JournalKind, RunStatus } from '@baton/core';
import { PUBLISHED_JOURNAL_KINDS } from '@baton/core';
import { sagaEventNameOf } from '../events/event-names.js';
import {
  endKindOf,
  isTerminalSagaStatus,
  kindOfJournal,
  parseSagaEventKind,
  parseSagaStatus,
  sagaEventKinds,
  sagaStatuses,
  statusOfRun,
  subjectOf,
} from './kinds.js';

describe('statuses and kinds of events', () => {
  it('K7: have labels that never change', () => {
    expect(sagaStatuses).toEqual([
      ...['pending', 'running', 'compensating', 'succeeded', 'failed', 'compensated', 'expired'],
      ...['compensation_failed', 'cancelled'],
    ]);
    expect(sagaEventKinds).toEqual([
      ...['step_started', 'step_completed', 'step_failed', 'step_compensated', 'step_compensation_failed'],
      ...['compensation_started', 'saga_succeeded', 'saga_failed', 'saga_compensated', 'saga_expired'],
      ...['saga_compensation_failed', 'saga_cancelled'],
    ]);
    expect(Object.isFrozen(sagaStatuses) && Object.isFrozen(sagaEventKinds)).toBe(true);
  });

  it.each(sagaStatuses)('K7: the status %s is read back', (status) => {
    expect(parseSagaStatus(status)).toBe(status);
  });

  it.each(sagaEventKinds)('K7: the kind %s is read back', (kind) => {
    expect(parseSagaEventKind(kind)).toBe(kind);
  });

  it.each(['', 'RUNNING', 'Pending', 'done', 'toString', '__proto__', ' running'])(
    'K7: %j is no label: reading it fails closed',
    (label) => {
      expect(() => parseSagaStatus(label)).toThrow(expect.objectContaining({ kind: 'invalid' }) as Error);
      expect(() => parseSagaEventKind(label)).toThrow(expect.objectContaining({ kind: 'invalid' }) as Error);
    },
  );

  it('K7: every end has its kind, and no two the same', () => {
    const ends = sagaStatuses.filter(isTerminalSagaStatus);
    expect(ends).toHaveLength(6);
    expect(ends.map(endKindOf)).toEqual(ends.map((end) => `saga_${end}`));
    expect(sagaEventKinds.filter((kind) => subjectOf(kind) === 'end').sort()).toEqual(ends.map(endKindOf).sort());
  });

  it('K4: (pending is a view) a run is pending until something of it was leased, and never when it has ended', () => {
    const waiting = { kind: 'forward', attempt: 1, status: 'SCHEDULED' } as const;
    expect(statusOfRun('RUNNING', [waiting])).toBe('pending');
    expect(statusOfRun('RUNNING', [{ ...waiting, status: 'RUNNING' }])).toBe('running');
    expect(statusOfRun('RUNNING', [{ ...waiting, status: 'SUCCEEDED' }, waiting])).toBe('running');
    expect(statusOfRun('RUNNING', [{ ...waiting, attempt: 2 }])).toBe('running');
    expect(statusOfRun('RUNNING', [{ ...waiting, status: 'BACKOFF' }])).toBe('running');
    expect(statusOfRun('RUNNING')).toBe('running');
    expect(statusOfRun('CANCELLED', [waiting])).toBe('cancelled');
  });

  it('K7: what the database holds and this build does not know is an error, never a guess', () => {
    const drift = expect.objectContaining({ kind: 'internal', code: 'JOURNAL_SHAPE' }) as Error;
    expect(() => statusOfRun('PAUSED' as RunStatus)).toThrow(drift);
    expect(() => kindOfJournal('node.forgotten')).toThrow(drift);
    expect(() => kindOfJournal('constructor')).toThrow(drift);
  });

  it('W15: every kind that the engine publishes has a name of its own as an event of a saga', () => {
    const names = [...PUBLISHED_JOURNAL_KINDS].map((kind: JournalKind) => sagaEventNameOf(kind));
    expect(names).not.toContain(undefined);
    expect(new Set(names).size).toBe(names.length);
  });
});
