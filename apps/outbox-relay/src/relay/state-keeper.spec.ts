import { silentLog } from '@baton/bus-kafka';
import { StateKeeper } from './state-keeper.js';
import type { Candidate, PublishedBefore, RelayStore } from './store.js';

/** Answers each save with the next snapshot; its position is the log's end at that time. */
class FakeStore {
  readonly saves: { readonly endLsn: bigint; readonly published: string | null }[] = [];
  logEnd = 100n;
  isBroken = false;

  saveState(
    _slot: string,
    _epoch: string,
    state: { readonly endLsn: bigint; readonly published: PublishedBefore | null },
  ): Promise<Candidate | null> {
    if (this.isBroken) return Promise.reject(new Error('database away'));
    this.saves.push({ endLsn: state.endLsn, published: state.published?.snapshot ?? null });
    return Promise.resolve({ snapshot: `s${this.saves.length}`, takenAt: 'then', position: this.logEnd });
  }
}

describe('The state of the relay', () => {
  let store: FakeStore;
  let confirmed: bigint;
  let keeper: StateKeeper;

  beforeEach(() => {
    jest.useFakeTimers();
    store = new FakeStore();
    confirmed = 0n;
    keeper = new StateKeeper({
      store: store as unknown as RelayStore,
      slot: 's',
      epoch: '1',
      published: null,
      log: silentLog,
      confirmed: () => confirmed,
    });
  });
  afterEach(() => {
    keeper.stop();
    jest.useRealTimers();
  });
  const seconds = (count: number): Promise<void> => jest.advanceTimersByTimeAsync(count * 1000);

  it('calls a snapshot published only when everything before its position is confirmed', async () => {
    keeper.noteProgress();
    await seconds(1);
    confirmed = 99n;
    keeper.noteProgress();
    await seconds(1);
    expect(store.saves.map(({ published }) => published)).toEqual([null, null]);
    store.logEnd = 300n;
    confirmed = 100n;
    await seconds(1);
    expect(store.saves.at(-1)).toEqual({ endLsn: 100n, published: 's2' });
  });

  it('is written twice after a burst and then left alone, however the log goes on', async () => {
    keeper.noteProgress();
    await seconds(1);
    for (let second = 0; second < 60; second += 1) {
      confirmed += 1000n;
      store.logEnd += 1000n;
      await seconds(1);
    }
    expect(store.saves).toHaveLength(2);
    expect(store.saves[1]?.published).toBe('s1');
  });

  it('is written later when the database is away', async () => {
    store.isBroken = true;
    keeper.noteProgress();
    await seconds(5);
    store.isBroken = false;
    confirmed = 70n;
    await seconds(1);
    expect(store.saves).toEqual([{ endLsn: 70n, published: null }]);
  });
});
