import { createRequire } from 'node:module';
import fc from 'fast-check';
import { murmur2, partitionFor } from './murmur2.js';

const theirs = createRequire(__filename)('kafkajs/src/producer/partitioners/default/murmur2') as (
  key: string,
) => number;

describe("The hash of Java's default partitioner", () => {
  // The vectors of Kafka's own tests (UtilsTest.testMurmur2).
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('of %s is %d', (key, hash) => {
    expect(murmur2(Buffer.from(key))).toBe(hash);
  });

  it('is the one of kafkajs for every key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 50 }), (key) => {
        expect(murmur2(Buffer.from(key, 'utf8'))).toBe(theirs(key));
      }),
    );
  });

  it('gives partitions in range, also where the hash is negative', () => {
    expect(partitionFor('21', 4)).toBe((-973932308 & 0x7fffffff) % 4);
    fc.assert(
      fc.property(fc.uuid(), fc.integer({ min: 1, max: 100 }), (key, count) => {
        const partition = partitionFor(key, count);
        expect(partition >= 0 && partition < count).toBe(true);
      }),
    );
  });
});
