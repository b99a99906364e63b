import { internalV1, runV1, workerV1 } from '@baton/contracts';
import type { EnumTable } from './enum-table.js';
import { acquireStatus, fireOutcome, heartbeatStatus, reportOutcome, runStatus, taskStatus } from './enums.js';

const tables: [string, Record<string, string | number>, EnumTable<string, number>][] = [
  ['RunStatus', runV1.RunStatus, runStatus],
  ['TaskStatus', runV1.TaskStatus, taskStatus],
  ['AcquireStatus', workerV1.AcquireStatus, acquireStatus],
  ['HeartbeatStatus', workerV1.HeartbeatStatus, heartbeatStatus],
  ['ReportOutcome', workerV1.ReportOutcome, reportOutcome],
  ['FireOutcome', internalV1.FireOutcome, fireOutcome],
];

describe('an enum on the wire', () => {
  it.each(tables)('%s maps every value there and back', (_name, proto, table) => {
    const values = Object.values(proto).filter((value): value is number => typeof value === 'number' && value > 0);
    expect(values.length).toBeGreaterThan(2);
    for (const value of values) {
      const name = table.fromProto(value);
      expect(String(proto[value]).endsWith(String(name))).toBe(true);
      expect(table.toProto(name ?? '')).toBe(value);
    }
  });

  it.each(tables)('%s has no name for what is unspecified, or newer than we are', (_name, _proto, table) => {
    expect(table.fromProto(0)).toBeUndefined();
    expect(table.fromProto(-1)).toBeUndefined();
    expect(table.fromProto(99)).toBeUndefined();
  });
});
