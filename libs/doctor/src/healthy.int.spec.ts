import { examine } from './index.js';
import { healthyDatabase, type Healthy } from './testing/healthy.js';

describe('a database that the engine has written', () => {
  let healthy: Healthy;

  beforeAll(async () => {
    healthy = await healthyDatabase();
  }, 120_000);

  afterAll(() => healthy?.close());

  it('is green', async () => {
    const copy = await healthy.copy();
    const report = await examine({ databaseUrl: copy.url });
    expect(report.findings).toEqual([]);
    expect(report.unable).toEqual([]);
    expect(report.ok).toBe(true);
    console.log(JSON.stringify(report, null, 1));
    await copy.drop();
  });
});
