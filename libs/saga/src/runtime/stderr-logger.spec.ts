import { lineOf } from './stderr-logger.js';

describe('a line on standard error', () => {
  it('is JSON with level, fields and message, and tells an error with its stack', () => {
    const error = Object.assign(new TypeError('no'), { code: 'E_NO' });
    const line = JSON.parse(lineOf('warn', { run_id: 'r', err: error }, 'it failed')) as Record<string, unknown>;
    expect(line).toMatchObject({ level: 'warn', run_id: 'r', msg: 'it failed' });
    expect(line['err']).toMatchObject({ name: 'TypeError', message: 'no', code: 'E_NO' });
    expect(line['err']).toHaveProperty('stack');
  });

  it('is there also when its fields cannot be written', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    const lines = [lineOf('error', cycle, 'said'), lineOf('error', { n: 1n }, 'said')];
    for (const line of lines) expect(JSON.parse(line)).toEqual({ level: 'error', msg: 'said' });
  });
});
