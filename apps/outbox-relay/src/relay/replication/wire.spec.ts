import { postgresTimeMs, readStreamMessage, writeStandbyStatus } from './wire.js';

describe('The replication protocol', () => {
  it('tells rows from keepalives', () => {
    const data = Buffer.alloc(28);
    data[0] = 0x77;
    data.writeBigUInt64BE(0xffff_fff0n, 1);
    data.writeBigUInt64BE(0x1_0000_0010n, 9);
    data.write('abc', 25);
    const message = readStreamMessage(data);
    expect(message).toMatchObject({ kind: 'data', start: 0xffff_fff0n, walEnd: 0x1_0000_0010n });
    expect(message.kind === 'data' && message.payload.toString()).toBe('abc');

    const keepalive = Buffer.alloc(18);
    keepalive[0] = 0x6b;
    keepalive.writeBigUInt64BE(0x1_0000_0010n, 1);
    keepalive[17] = 1;
    expect(readStreamMessage(keepalive)).toEqual({ kind: 'keepalive', walEnd: 0x1_0000_0010n, replyRequested: true });
    keepalive[17] = 0;
    expect(readStreamMessage(keepalive)).toMatchObject({ replyRequested: false });
  });

  it('ignores messages of a later server', () => {
    expect(readStreamMessage(Buffer.from('z'))).toEqual({ kind: 'unknown', tag: 0x7a });
    expect(readStreamMessage(Buffer.alloc(0))).toEqual({ kind: 'unknown', tag: -1 });
  });

  it('confirms one position as flushed and as applied, and another as received', () => {
    const status = writeStandbyStatus({ received: 0x1_0000_0010n, confirmed: 0xffff_fff0n, nowMs: 946_684_800_001 });
    expect(status).toHaveLength(34);
    expect(status.toString('latin1', 0, 1)).toBe('r');
    expect(status.readBigUInt64BE(1)).toBe(0x1_0000_0010n);
    expect(status.readBigUInt64BE(9)).toBe(0xffff_fff0n);
    expect(status.readBigUInt64BE(17)).toBe(0xffff_fff0n);
    expect(status.readBigInt64BE(25)).toBe(1000n);
    expect(status[33]).toBe(0);
  });

  it("reads PostgreSQL's clock", () => {
    expect(postgresTimeMs(0n)).toBe(Date.UTC(2000, 0, 1));
    expect(postgresTimeMs(1_500n)).toBe(Date.UTC(2000, 0, 1) + 1);
  });
});
