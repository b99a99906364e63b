/** A position in the write-ahead log: 64 bits, so never a JS number, and never compared as text. */
export type Lsn = bigint;

const HIGH_LOW = /^([0-9A-Fa-f]{1,8})\/([0-9A-Fa-f]{1,8})$/;

export function parseLsn(text: string): Lsn {
  const parts = HIGH_LOW.exec(text);
  if (!parts) throw new RangeError(`not an LSN: ${JSON.stringify(text)}`);
  return (BigInt(`0x${parts[1] as string}`) << 32n) | BigInt(`0x${parts[2] as string}`);
}

export function formatLsn(lsn: Lsn): string {
  return `${(lsn >> 32n).toString(16).toUpperCase()}/${(lsn & 0xffff_ffffn).toString(16).toUpperCase()}`;
}
