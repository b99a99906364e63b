import { Collector } from './collector.js';
import { judgeSlot, type RelayRow } from './relay.js';

const sound: RelayRow = {
  publication: true,
  plugin: 'pgoutput',
  ours: true,
  active: true,
  confirmed: '0/1',
  wal_status: 'reserved',
  invalidation: null,
  known: true,
  published_before: null,
  snapshot: '1:1:',
};

function found(change: Partial<RelayRow>): string[] {
  const collector = new Collector();
  judgeSlot({ ...sound, ...change }, 'baton_outbox', collector);
  return collector.report().findings.map(({ invariant, code }) => `${invariant} ${code}`);
}

describe('the slot of the relay (I7)', () => {
  it('is sound when it is there, ours, and its log is kept', () => {
    expect(found({})).toEqual([]);
    expect(found({ wal_status: 'extended', active: false })).toEqual([]);
  });

  it.each<[string, Partial<RelayRow>]>([
    ['SLOT_MISSING', { plugin: null, ours: null, wal_status: null }],
    ['SLOT_FOREIGN', { plugin: 'test_decoding' }],
    ['SLOT_FOREIGN', { ours: false }],
    ['SLOT_LOST', { wal_status: 'lost' }],
    ['SLOT_LOST', { invalidation: 'wal_removed' }],
    ['SLOT_IN_DANGER', { wal_status: 'unreserved' }],
    ['PUBLICATION_MISSING', { publication: false }],
  ])('%s', (code, change) => {
    expect(found(change)).toEqual([`I7 ${code}`]);
  });
});
