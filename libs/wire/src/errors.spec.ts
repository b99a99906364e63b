import { ApiError, ERROR_BODY_KEY, ERROR_CODE_KEY, fromGrpcError, toGrpcError, type ErrorKind } from './errors.js';

class Trailers {
  readonly entries = new Map<string, string | Buffer>();
  set(key: string, value: string | Buffer): void {
    this.entries.set(key, value);
  }
  get(key: string): (string | Buffer)[] {
    const value = this.entries.get(key);
    return value === undefined ? [] : [value];
  }
}

describe('errors over gRPC', () => {
  const kinds: [ErrorKind, number][] = [
    ['invalid', 3],
    ['unauthenticated', 16],
    ['forbidden', 7],
    ['not-found', 5],
    ['conflict', 6],
    ['precondition', 9],
    ['too-large', 8],
    ['unavailable', 14],
    ['internal', 13],
  ];

  it.each(kinds)('%s becomes status %i and is read back as it was (B112)', (kind, status) => {
    const details = [{ pointer: '/nodes/1', code: 'CYCLE', message: 'a → b → a' }];
    const sent = toGrpcError(new ApiError(kind, 'SOME_CODE', 'what is wrong: ü', details), new Trailers());
    expect(sent.code).toBe(status);
    expect(sent.metadata.get(ERROR_CODE_KEY)).toEqual(['SOME_CODE']);
    expect(Buffer.isBuffer(sent.metadata.get(ERROR_BODY_KEY)[0])).toBe(true);
    expect(fromGrpcError(sent)).toMatchObject({ kind, code: 'SOME_CODE', message: 'what is wrong: ü', details });
  });

  it('cuts a list of details that no HTTP/2 header block could carry, and says how many are left', () => {
    const details = Array.from({ length: 10_000 }, (_, i) => ({ pointer: `/nodes/${i}`, code: 'X', message: 'wrong' }));
    const sent = toGrpcError(new ApiError('invalid', 'INVALID', 'many', details), new Trailers());
    expect((sent.metadata.get(ERROR_BODY_KEY)[0] as Buffer).length).toBeLessThan(32 * 1024);
    const read = fromGrpcError(sent).details;
    expect(read.at(-1)).toEqual({ pointer: '', code: 'MORE', message: `and ${10_000 - (read.length - 1)} more` });
  });

  it('reads an error that gRPC itself made', () => {
    expect(fromGrpcError({ code: 14, details: 'No connection established' })).toMatchObject({
      kind: 'unavailable',
      code: 'UNAVAILABLE',
      message: 'No connection established',
    });
    expect(fromGrpcError({ code: 4, details: 'Deadline exceeded' })).toMatchObject({
      kind: 'unavailable',
      code: 'TIMEOUT',
    });
    expect(fromGrpcError({ code: 2, details: 'boom' })).toMatchObject({ kind: 'internal', message: 'boom' });
    expect(fromGrpcError(new Error('no status'))).toMatchObject({ kind: 'internal', message: 'no status' });
    expect(fromGrpcError('a string')).toMatchObject({ kind: 'internal', message: 'a string' });
    expect(fromGrpcError(undefined)).toMatchObject({ kind: 'internal' });
  });

  it('ignores a body that is not ours', () => {
    const trailers = new Trailers();
    trailers.set(ERROR_BODY_KEY, Buffer.from('not json'));
    trailers.set(ERROR_CODE_KEY, 'NOT_FOUND_HERE');
    expect(fromGrpcError({ code: 5, details: 'gone', metadata: trailers })).toMatchObject({
      kind: 'not-found',
      code: 'NOT_FOUND_HERE',
      message: 'gone',
      details: [],
    });
  });
});
