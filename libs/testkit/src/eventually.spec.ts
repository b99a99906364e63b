import { eventually } from './eventually.js';

describe('eventually', () => {
  it('returns the first truthy answer', async () => {
    let asked = 0;
    expect(await eventually(() => (asked += 1) > 2 && 'there', { intervalMs: 1 })).toBe('there');
    expect(asked).toBe(3);
  });

  it('takes a check that throws for "not yet"', async () => {
    let asked = 0;
    const check = (): number => {
      asked += 1;
      if (asked === 1) throw new Error('no connection');
      return asked;
    };
    expect(await eventually(check, { intervalMs: 1 })).toBe(2);
  });

  it('says what it waited for and what it saw last', async () => {
    const options = { timeoutMs: 5, intervalMs: 1, what: 'the run to end' };
    await expect(eventually(() => null, options)).rejects.toThrow('Waited 5 ms for the run to end; last: null');
    const failing = (): never => {
      throw new Error('no connection');
    };
    await expect(eventually(failing, options)).rejects.toThrow('last: no connection');
  });
});
