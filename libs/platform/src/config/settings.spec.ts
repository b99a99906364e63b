import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  addressListSetting,
  baseSettings,
  choiceSetting,
  databaseUrlSetting,
  kafkaBrokersSetting,
  portSetting,
} from './common.js';
import { describeConfig, type Environment, loadConfig, type Settings } from './settings.js';

const settings = {
  databaseUrl: databaseUrlSetting,
  brokers: kafkaBrokersSetting,
  port: portSetting('BATON_GRPC_PORT', 7401, 'a port'),
  coordinators: addressListSetting('BATON_COORDINATOR_URL', '127.0.0.1:7401', 'coordinators'),
  level: choiceSetting('BATON_LOG_LEVEL', ['info', 'warn'] as const, { fallback: 'info', about: 'a level' }),
} satisfies Settings;

const good = { BATON_DATABASE_URL: 'postgres://u:secret@h/db', BATON_KAFKA_BROKERS: 'a:9092, b:9093' };

function load(env: Environment) {
  const loaded = loadConfig(settings, env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

function problems(env: Environment): string[] {
  const loaded = loadConfig(settings, env);
  return loaded.ok ? [] : loaded.problems.map(({ variable, message }) => `${variable} ${message}`);
}

describe('configuration', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-config-'));
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  afterAll(() => rmSync(folder, { recursive: true }));

  it('reads values with their types and takes defaults for what is absent or empty', () => {
    expect(load({ ...good, BATON_GRPC_PORT: '' })).toEqual({
      databaseUrl: 'postgres://u:secret@h/db',
      brokers: ['a:9092', 'b:9093'],
      port: 7401,
      coordinators: ['127.0.0.1:7401'],
      level: 'info',
    });
  });

  it('names every problem at once', () => {
    const found = problems({
      BATON_KAFKA_BROKERS: 'nonsense',
      BATON_GRPC_PORT: '0x10',
      BATON_COORDINATOR_URL: 'a:1,b:99999',
      BATON_LOG_LEVEL: 'loud',
    });
    expect(found.map((text) => text.split(' ', 1)[0]).sort()).toEqual([
      'BATON_COORDINATOR_URL',
      'BATON_DATABASE_URL',
      'BATON_GRPC_PORT',
      'BATON_KAFKA_BROKERS',
      'BATON_LOG_LEVEL',
    ]);
    expect(found.join('\n')).toContain('BATON_DATABASE_URL is not set (PostgreSQL');
  });

  it.each(['-1', '65536', '1e3', '80.0', ' ', '80a'].filter((text) => text.trim() !== ''))(
    'refuses port %s',
    (port) => {
      expect(problems({ ...good, BATON_GRPC_PORT: port })).toHaveLength(1);
    },
  );

  it('reads a value from the file that NAME_FILE names, without its last line feed', () => {
    const path = file('url', 'postgres://from-file/db\n');
    expect(load({ BATON_KAFKA_BROKERS: 'a:1', BATON_DATABASE_URL_FILE: path }).databaseUrl).toBe(
      'postgres://from-file/db',
    );
  });

  it('refuses a value that is given twice, a file that is missing and one that is empty', () => {
    const path = file('twice', 'postgres://x/y');
    expect(problems({ ...good, BATON_DATABASE_URL_FILE: path })).toEqual([
      expect.stringContaining('BATON_DATABASE_URL is set, and so is BATON_DATABASE_URL_FILE'),
    ]);
    const other = { BATON_KAFKA_BROKERS: 'a:1' };
    expect(problems({ ...other, BATON_DATABASE_URL_FILE: join(folder, 'absent') })[0]).toContain('cannot be read');
    expect(problems({ ...other, BATON_DATABASE_URL_FILE: file('empty', '\n') })[0]).toContain('is empty');
  });

  it('never shows a secret, neither in problems nor in the description', () => {
    expect(problems({ ...good, BATON_DATABASE_URL: 'mysql://u:secret@h/db' }).join()).not.toContain('secret');
    const description = describeConfig(settings, load(good));
    expect(description['BATON_DATABASE_URL']).toBe('[set]');
    expect(description['BATON_GRPC_PORT']).toBe(7401);
  });

  it('gives every service the same base', () => {
    const loaded = loadConfig(baseSettings({ adminPort: 9999 }), {});
    expect(loaded).toMatchObject({
      ok: true,
      config: { adminPort: 9999, bindHost: '127.0.0.1', logLevel: 'info', auth: 'none', nodeEnv: 'development' },
    });
  });
});
