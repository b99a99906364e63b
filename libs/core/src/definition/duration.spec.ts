import { parseDuration } from './duration.js';

describe('parseDuration', () => {
  it.each([
    ['PT0S', 0],
    ['PT1S', 1_000],
    ['PT0.25S', 250],
    ['PT1.5S', 1_500],
    ['PT5M', 300_000],
    ['PT1H30M', 5_400_000],
    ['P2D', 172_800_000],
    ['P1DT1H', 90_000_000],
    ['P1W', 604_800_000],
    ['P30D', 2_592_000_000],
    ['PT36500H', 131_400_000_000],
  ])('reads %s as %i ms', (text, ms) => {
    expect(parseDuration(text)).toEqual({ ok: true, ms });
  });

  it.each([
    ['PT30D', 'P30D is meant'],
    ['PT1DT5M', 'days come before the T'],
    ['-PT5M', 'negative'],
    ['P1M', 'no fixed length'],
    ['P1Y', 'no fixed length'],
    ['P1Y2M10DT2H', 'no fixed length'],
    ['pt5m', 'capitals: PT5M'],
    ['30', 'PT30S'],
    ['P', 'not an ISO 8601 duration'],
    ['PT', 'not an ISO 8601 duration'],
    ['P1DT', 'not an ISO 8601 duration'],
    ['', 'not an ISO 8601 duration'],
    ['5 minutes', 'not an ISO 8601 duration'],
    ['PT1.2345S', 'not an ISO 8601 duration'],
    ['P1W2D', 'not an ISO 8601 duration'],
    ['PT5M1H', 'not an ISO 8601 duration'],
  ])('B56: refuses %j and says: %s', (text, hint) => {
    const parsed = parseDuration(text);
    expect(parsed).toMatchObject({ ok: false, code: 'BAD_DURATION' });
    expect(!parsed.ok && parsed.message).toContain(hint);
  });

  it.each(['P36501D', 'PT999999999999H', 'P99999999999999999999W'])('B56: refuses more than 100 years: %s', (text) => {
    expect(parseDuration(text)).toMatchObject({ ok: false, code: 'OUT_OF_RANGE' });
  });
});
