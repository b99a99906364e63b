import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { pollUntil, runningKafka, startKafka } from '../index.js';

describe('a local Kafka', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-kafka-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('has every acknowledged message after a SIGKILL', async () => {
    const dataDir = join(folder, 'kafka');
    const broker = await startKafka({ dataDir });
    const kafka = new Kafka({ brokers: [broker.brokers], logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    const producer = kafka.producer();
    await Promise.all([admin.connect(), producer.connect()]);
    await admin.createTopics({ topics: [{ topic: 'kept', numPartitions: 1 }] });
    await producer.send({ topic: 'kept', acks: -1, messages: [{ value: 'a' }, { value: 'b' }] });
    await Promise.all([admin.disconnect(), producer.disconnect()]);
    await broker.kill();
    await broker.restart();
    const again = kafka.admin();
    await again.connect();
    expect(await again.fetchTopicOffsets('kept')).toMatchObject([{ partition: 0, high: '2' }]);
    await again.disconnect();
    await expect(startKafka({ dataDir })).rejects.toMatchObject({ code: 'ALREADY_RUNNING' });
    await broker.stop();
    expect(await pollUntil(() => (runningKafka(dataDir) === undefined ? true : undefined), { timeoutMs: 1000 })).toBe(
      true,
    );
  });

  it('moves a half-formatted data folder aside, without deleting it', async () => {
    const dataDir = join(folder, 'kafka');
    mkdirSync(join(dataDir, 'data'), { recursive: true });
    writeFileSync(join(dataDir, 'data', 'meta.properties.tmp'), '');
    const broker = await startKafka({ dataDir });
    await broker.stop();
    expect(readdirSync(dataDir).some((name) => name.startsWith('data.half-formatted-'))).toBe(true);
  });

  it('says what to do when there is no Java', async () => {
    const home = process.env['JAVA_HOME'];
    process.env['JAVA_HOME'] = folder;
    try {
      await expect(startKafka({ dataDir: join(folder, 'kafka') })).rejects.toThrow(
        /^Kafka needs a Java runtime .* install one .*, or set BATON_KAFKA_BROKERS/,
      );
    } finally {
      if (home === undefined) delete process.env['JAVA_HOME'];
      else process.env['JAVA_HOME'] = home;
    }
  });
});
