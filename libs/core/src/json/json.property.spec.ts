import * as fc from 'fast-check';
import { canonicalJson } from './canonical.js';
import { checkPayload } from './check-payload.js';
import { parseJson } from './parse.js';

const settings = { seed: Number(process.env['FC_SEED'] ?? 20_261_130), numRuns: 300 };

describe('JSON tools against JSON.parse', () => {
  it('accept what it accepts and refuse what it refuses, for texts that are almost JSON', () => {
    const almostJson = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', '\\', '0', 'e', ' ', '-', ':'), fc.nat({ max: 2 }))
      .map(([text, at, inserted, removed]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + inserted + text.slice(place + removed);
      });
    fc.assert(
      fc.property(almostJson, (text) => {
        const checked = checkPayload(text);
        if (!checked.ok && checked.code !== 'PAYLOAD_NOT_JSON') return;
        expect(checked.ok).toBe(isJson(text));
      }),
      settings,
    );
  });

  it('cut each value out as a text that means the same', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value, null, 1);
        const parsed = parseJson(text);
        if (!parsed.ok) return;
        expect(JSON.parse(text.slice(parsed.root.start, parsed.root.end))).toEqual(JSON.parse(text));
        expect(JSON.parse(canonicalJson(text))).toEqual(JSON.parse(text));
      }),
      settings,
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
