import { Kafka, logLevel } from 'kafkajs';
import { eventually, kafkaBrokers } from './index.js';

describe('the broker of a test run', () => {
  it('is started once for all who ask', async () => {
    const brokers = await Promise.all([kafkaBrokers(), kafkaBrokers()]);
    expect(new Set(brokers).size).toBe(1);
  });

  it('keeps and delivers messages', async () => {
    const kafka = new Kafka({ brokers: [await kafkaBrokers()], logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    const producer = kafka.producer();
    const consumer = kafka.consumer({ groupId: 'testkit' });
    await Promise.all([admin.connect(), producer.connect(), consumer.connect()]);
    try {
      await admin.createTopics({ topics: [{ topic: 'testkit', numPartitions: 1 }] });
      await producer.send({ topic: 'testkit', messages: [{ value: 'hello' }] });
      const received: string[] = [];
      await consumer.subscribe({ topic: 'testkit', fromBeginning: true });
      await consumer.run({ eachMessage: async ({ message }) => void received.push(String(message.value)) });
      await eventually(() => received.includes('hello'), { what: 'the message' });
    } finally {
      await Promise.all([admin.disconnect(), producer.disconnect(), consumer.disconnect()]);
    }
  });
});
