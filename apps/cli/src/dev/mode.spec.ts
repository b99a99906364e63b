import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseMode } from './mode.js';

describe('the mode of a development platform', () => {
  const before = { ...process.env };
  let home: string;
  let said: string[];

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'baton-java-'));
    process.env['JAVA_HOME'] = home;
    delete process.env['BATON_KAFKA_BROKERS'];
    said = [];
  });
  afterEach(() => {
    process.env = { ...before };
    rmSync(home, { recursive: true });
  });

  const choose = (library = false): Promise<string> => chooseMode({ library, say: (line) => said.push(line) });
  const haveJava = (version: string): void => {
    mkdirSync(join(home, 'bin'));
    writeFileSync(join(home, 'bin', 'java'), `#!/bin/sh\necho 'openjdk version "${version}"' >&2\n`, { mode: 0o755 });
  };

  it('is that of the library where no Java is found, and one line says so', async () => {
    expect(await choose()).toBe('library');
    expect(said).toEqual([expect.stringMatching(/^No Java runtime, so no Kafka: .*on PostgreSQL alone/)]);
  });

  it('is that of the library in silence when it was asked for', async () => {
    expect(await choose(true)).toBe('library');
    expect(said).toEqual([]);
  });

  it('is that of the platform with a Java, and with brokers that exist', async () => {
    process.env['BATON_KAFKA_BROKERS'] = '127.0.0.1:9092';
    expect(await choose()).toBe('platform');
    delete process.env['BATON_KAFKA_BROKERS'];
    haveJava('21.0.1');
    expect(await choose()).toBe('platform');
    expect(said).toEqual([]);
  });

  it('is not changed by a Java that is too old: that can be mended, and its error says how', async () => {
    haveJava('11.0.2');
    expect(await choose()).toBe('platform');
  });
});
