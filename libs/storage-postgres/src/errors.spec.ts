import { FenceMissError, StoreError } from '@baton/engine';
import { breaksConnection, toConnectError, toStoreError, type Doing } from './errors.js';

const raised = (code: string, over: object = {}) => Object.assign(new Error('from the server'), { code, ...over });
const kind = (error: unknown, doing: Doing) => {
  const mapped = toStoreError(error, doing);
  return mapped instanceof StoreError ? mapped.kind : mapped.name;
};

describe('errors of the database', () => {
  it.each([
    ['22P02', 'data'],
    ['22021', 'data'],
    ['23505', 'data'],
    ['54000', 'data'],
    ['40001', 'transient'],
    ['40P01', 'transient'],
    ['55P03', 'transient'],
    ['57P01', 'transient'],
    ['25P03', 'transient'],
    ['42P01', 'unavailable'],
    ['53300', 'unavailable'],
    ['57014', 'unavailable'],
    ['XX000', 'unavailable'],
  ])('of class %s are %s, whatever was under way (R5, R8)', (code, wanted) => {
    expect([kind(raised(code), 'read'), kind(raised(code), 'write'), kind(raised(code), 'transaction')]).toEqual([
      wanted,
      wanted,
      wanted,
    ]);
  });

  it('leave a lost connection unknown only where a commit was under way (R6)', () => {
    for (const lost of [
      raised('ECONNRESET'),
      raised('EPIPE'),
      new Error('Connection terminated unexpectedly'),
      new Error('Query read timeout'),
      raised('08006'),
    ]) {
      expect([kind(lost, 'write'), kind(lost, 'transaction'), kind(lost, 'read')]).toEqual([
        'unknown-commit',
        'transient',
        'transient',
      ]);
      expect(breaksConnection(lost)).toBe(true);
    }
    expect(kind(new Error('Client has encountered a connection error and is not queryable'), 'write')).toBe(
      'transient',
    );
    expect(kind(raised('ECONNREFUSED'), 'write')).toBe('unavailable');
    expect(kind(new Error('something else'), 'write')).toBe('unavailable');
    expect(kind('not even an error', 'write')).toBe('unavailable');
  });

  it('name the runs of a fence miss (R1)', () => {
    const miss = toStoreError(raised('BT001', { detail: 'a,b' }), 'write');
    expect(miss).toBeInstanceOf(FenceMissError);
    expect((miss as FenceMissError).runIds).toEqual(['a', 'b']);
    expect((toStoreError(raised('BT001'), 'write') as FenceMissError).runIds).toEqual([]);
    expect(toStoreError(miss, 'read')).toBe(miss);
  });

  it('keep their cause, and never make a connection of a failed statement useless', () => {
    const cause = raised('23505', { severity: 'ERROR' });
    expect((toStoreError(cause, 'write') as StoreError).cause).toBe(cause);
    expect(breaksConnection(cause)).toBe(false);
    expect(breaksConnection(raised('57P01', { severity: 'FATAL' }))).toBe(true);
  });

  it('mean nothing was sent when there was no connection', () => {
    expect(toConnectError(raised('57P03')).kind).toBe('transient');
    expect(toConnectError(raised('28P01')).kind).toBe('unavailable');
    expect(toConnectError(new Error('timeout exceeded when trying to connect')).kind).toBe('unavailable');
  });
});
