/** The hash of Java's default partitioner (32 bits, signed), over the bytes of the key. */
export function murmur2(key: Uint8Array): number {
  const m = 0x5bd1e995;
  const length = key.length;
  const tail = length & ~3;
  const view = new DataView(key.buffer, key.byteOffset, length);
  let h = 0x9747b28c ^ length;
  for (let i = 0; i < tail; i += 4) {
    let k = Math.imul(view.getInt32(i, true), m);
    k ^= k >>> 24;
    h = Math.imul(h, m) ^ Math.imul(k, m);
  }
  if (length !== tail) {
    for (let i = length - 1; i >= tail; i -= 1) h ^= view.getUint8(i) << (8 * (i - tail));
    h = Math.imul(h, m);
  }
  h ^= h >>> 13;
  h = Math.imul(h, m);
  return h ^ (h >>> 15);
}

/** Partition of a key, as every client with Java's default partitioner computes it. */
export function partitionFor(key: string, partitions: number): number {
  return (murmur2(Buffer.from(key, 'utf8')) & 0x7fffffff) % partitions;
}
