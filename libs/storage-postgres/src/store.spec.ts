import { shareOut } from './store.js';

describe('the connections of a store', () => {
  it('are enough for every lane to lock and to load a definition meanwhile, whatever people ask', () => {
    for (let lanes = 1; lanes <= 64; lanes += 1) expect(shareOut(lanes + 8).engine).toBeGreaterThan(lanes + 2);
  });

  it('leave one for questions, however few they are', () => {
    expect([shareOut(1), shareOut(2), shareOut(10)]).toEqual([
      { engine: 1, views: 1 },
      { engine: 1, views: 1 },
      { engine: 8, views: 2 },
    ]);
  });
});
